import Glibc
import LockstepModel

/// Attributes read one after the other, on a grid of times.
struct PolledSession: IIOSession {
    /// Samples a second where nobody says which, and at the most: each costs a transfer of the bus for each axis.
    static let defaultRate = 50.0
    static let maxRate = 100.0
    static let minRate = 0.001

    private struct Polled {
        let sensor: IIOSensor
        let files: [AttributeFile]
        let period: Int64
        var due: Int64
        var watch: ReadingMonitor
        var block: SampleBlock
    }

    private var polled: [Polled] = []
    private let linger: Int64

    /// - Parameters:
    ///   - rates: samples a second that are wanted of each stream.
    ///   - linger: how long samples gather before they are handed over, in µs.
    ///   - proven: sensors that have said anything but zero before.
    init(
        device: IIODevice, sensors: [IIOSensor], rates: [SensorStream: Double], linger: Int64,
        proven: Set<SensorStream>
    ) throws(IIOError) {
        self.linger = linger
        let start = Moment.now().boot
        for sensor in sensors {
            guard case .polled(let names, let note) = sensor.access, let wanted = rates[sensor.quantity.stream] else {
                continue
            }
            var files: [AttributeFile] = []
            for name in names { files.append(try AttributeFile(device.folder[name])) }
            let rate = Self.rate(for: wanted)
            // A sensor that measures more slowly than it is read would say everything twice.
            let rateNote = sensor.rate.flatMap { control in
                let shared = sensors.fastest(setBy: control) { rates[$0.quantity.stream].map(Self.rate) }
                return control.set(shared ?? rate).note
            }
            polled.append(
                Polled(
                    sensor: sensor, files: files, period: Int64((1e6 / rate).rounded()), due: start,
                    watch: ReadingMonitor(
                        label: device.label, quantity: sensor.quantity, range: sensor.range,
                        notes: [note.map { "polled: \($0)" }, rateNote].compactMap { $0 },
                        isProven: proven.contains(sensor.quantity.stream)),
                    block: SampleBlock(stream: sensor.quantity.stream)))
        }
        // Without one there would be nothing to wait for.
        guard !polled.isEmpty else { throw IIOError("it can't be polled any more") }
    }

    /// Samples a second to read where `wanted` is asked.
    static func rate(for wanted: Double) -> Double {
        wanted.isFinite ? min(max(wanted, minRate), maxRate) : defaultRate
    }

    func stop() {}

    var proven: Set<SensorStream> { Set(polled.filter(\.watch.isProven).map(\.block.stream)) }

    var statuses: [SensorStream: SourceStatus] {
        Dictionary(
            uniqueKeysWithValues: polled.compactMap { item in item.watch.status.map { (item.block.stream, $0) } })
    }

    mutating func next(_ waker: WakePipe) throws(IIOError) -> [SampleBlock] {
        let until = Moment.now().boot + linger
        repeat {
            guard let due = polled.map(\.due).min() else { return [] }
            if waker.wait(until: due) == .woken { break }
            for index in polled.indices where polled[index].due <= due { try take(index) }
        } while (polled.map(\.due).min() ?? .max) < until
        return takeBlocks()
    }

    private mutating func take(_ index: Int) throws(IIOError) {
        let before = Moment.now().boot
        var raw = SIMD3<Double>.zero
        for axis in 0..<3 { raw[axis] = try polled[index].files[axis].number() }
        let time = before + (Moment.now().boot - before) / 2
        // After a suspend the times that were slept through are left out.
        let missed = max(0, time - polled[index].due) / polled[index].period
        polled[index].due += (missed + 1) * polled[index].period
        if polled[index].watch.take(raw, at: time) {
            polled[index].block.append(
                time: Timestamp(microseconds: time), values: polled[index].sensor.conversion.values(of: raw))
        }
    }

    private mutating func takeBlocks() -> [SampleBlock] {
        let blocks = polled.map(\.block).filter { !$0.isEmpty }
        for index in polled.indices { polled[index].block = SampleBlock(stream: polled[index].block.stream) }
        return blocks
    }
}
