import Glibc
import LockstepModel

/// Polls attributes one after the other, at regular times.
struct PolledSession: IIOSession {
    /// The fastest rate in samples/s: each sample costs one bus transfer per channel.
    static let maxRate = 100.0
    /// The slowest rate in samples/s.
    static let minRate = 0.001

    private struct Polled {
        let sensor: IIOSensor
        let files: [AttributeFile]
        /// Why the sensor's buffer is not used; nil if it has none.
        var reason: String?
        /// The fastest rate in samples/s of the sensors that share its rate control; nil if its rate is fixed.
        let sharedRate: Double?
        /// The time between readings, in µs.
        let period: Int64
        /// The time of the next reading, in µs of the boot clock.
        var deadline: Int64
        var monitor: ReadingMonitor
        var block: SampleBlock
    }

    private let device: IIODevice

    private var polled: [Polled] = []
    private let linger: Int64

    /// - Parameters:
    ///   - rates: The requested rates in samples/s.
    ///   - linger: The time for which samples are collected before they are delivered, in µs.
    ///   - proven: The sensors that have delivered a reading other than zero.
    /// - Throws: ``IIOError`` if an attribute cannot be opened or no sensor is requested.
    init(
        device: IIODevice, sensors: [IIOSensor], rates: [SensorStream: Double], linger: Int64,
        proven: Set<SensorStream>
    ) throws(IIOError) {
        self.device = device
        self.linger = linger
        let start = Moment.now().boot
        for sensor in sensors {
            guard case .polled(let names, let note, _) = sensor.access, let rate = Self.rate(of: sensor, in: rates)
            else {
                continue
            }
            var files: [AttributeFile] = []
            for name in names { files.append(try AttributeFile(device.folder[name])) }
            let sharedRate = sensor.rate.map { control in
                sensors.fastest(setBy: control) { Self.rate(of: $0, in: rates) } ?? rate
            }
            polled.append(
                Polled(
                    sensor: sensor, files: files, reason: note, sharedRate: sharedRate,
                    period: Int64((1e6 / rate).rounded()), deadline: start,
                    monitor: ReadingMonitor(
                        label: device.label, quantity: sensor.quantity, range: sensor.range,
                        isProven: proven.contains(sensor.quantity.stream)),
                    block: SampleBlock(stream: sensor.quantity.stream)))
        }
        setRates()
        // next() needs at least one deadline.
        guard !polled.isEmpty else { throw IIOError("the sensor cannot be polled any more") }
    }

    /// Continues after a failed attempt to use the buffer, which may have changed the sensors' rates.
    /// - Parameter reason: Why the buffer is not used.
    mutating func continuePolling(because reason: String) {
        for index in polled.indices { polled[index].reason = reason }
        setRates()
    }

    /// Sets the sensors' own rates: a sensor that measures less often than it is polled would repeat its values.
    private mutating func setRates() {
        for index in polled.indices {
            let sensor = polled[index].sensor
            let rateNote = polled[index].sharedRate.flatMap { sensor.rate?.set($0).note }
            polled[index].monitor.setNotes(
                [sensor.warning, polled[index].reason.map { "polled: \($0)" }, rateNote].compactMap { $0 })
        }
    }

    /// Returns the polling rate of a sensor in samples/s; nil if it is not requested.
    private static func rate(of sensor: IIOSensor, in rates: [SensorStream: Double]) -> Double? {
        rates[sensor.quantity.stream].map { requested in
            requested.isFinite ? min(max(requested, minRate), maxRate) : sensor.quantity.defaultPollingRate
        }
    }

    func stop() {}

    var proven: Set<SensorStream> { Set(polled.filter(\.monitor.isProven).map(\.block.stream)) }

    var statuses: [SensorStream: SourceStatus] {
        Dictionary(
            uniqueKeysWithValues: polled.compactMap { item in item.monitor.status.map { (item.block.stream, $0) } })
    }

    func checkPresence() throws(IIOError) {
        if !device.folder.contains("") { throw IIOError("the sensor is gone: \(device.folder.path) does not exist") }
    }

    mutating func takeRemainder() -> [SampleBlock] { takeBlocks() }

    mutating func next(_ waker: Wakeup, until limit: Int64) throws(IIOError) -> [SampleBlock] {
        let until = Moment.now().boot + linger
        repeat {
            guard let deadline = polled.map(\.deadline).min() else { return [] }
            if waker.wait(until: min(deadline, limit)) == .woken {
                try checkPresence()
                break
            }
            if Moment.now().boot < deadline { break }
            for index in polled.indices where polled[index].deadline <= deadline { try read(index) }
        } while (polled.map(\.deadline).min() ?? .max) < until
        return takeBlocks()
    }

    private mutating func read(_ index: Int) throws(IIOError) {
        let before = Moment.now().boot
        var raw = SIMD3<Double>.zero
        for (channel, file) in polled[index].files.enumerated() { raw[channel] = try file.number() }
        let time = before + (Moment.now().boot - before) / 2
        // Readings that were missed during a suspend are skipped.
        let missed = max(0, time - polled[index].deadline) / polled[index].period
        polled[index].deadline += (missed + 1) * polled[index].period
        if polled[index].monitor.accept(raw, at: time) {
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
