import Glibc
import LockstepModel

/// Whole scans from a device's buffer.
struct BufferSession: IIOSession {
    /// How long, in µs, a sensor may say nothing before that is reported.
    private static let minSilence: Int64 = 5_000_000
    /// The same where nobody knows how often scans come.
    private static let silenceAtUnknownRate: Int64 = 30_000_000
    /// How long, in µs, it is taken for granted that a sensor that says nothing is still there.
    private static let checkPeriod: Int64 = 20_000_000

    private let setup: BufferSetup
    private let layout: ScanLayout
    private let file: DeviceFile
    private var stamper: ScanStamper
    private var watches: [SensorStream: ReadingMonitor] = [:]
    /// What was read of a scan that is not whole.
    private var rest: [UInt8] = []
    /// How long it may say nothing, in µs, and until when it may now.
    private let silence: Int64
    private var silentAt: Int64
    /// When to look whether it is there, in µs.
    private var checkAt: Int64
    private var isSilent = false

    /// Opens the device, sets its buffer up and switches it on.
    /// - Parameter linger: how long scans gather before they are read, in µs.
    /// - Throws: ``IIOError``; the buffer is off then.
    init(
        device: IIODevice, sensors: [IIOSensor], triggers: [String], tree: IIOTree, rates: [SensorStream: Double],
        linger: Int64, proven: Set<SensorStream>
    ) throws(IIOError) {
        setup = BufferSetup(
            device: device, sensors: sensors, triggers: triggers, triggerFolders: tree.triggers(),
            linger: linger)
        // Opening first: where another program has the device, its settings stay as they are.
        file = try DeviceFile(device.node)
        let rate: Double?
        do throws(IIOError) {
            let result = try setup.configure(rates)
            rate = result.rate
            layout = result.layout
            stamper = ScanStamper(clock: result.clock, began: Moment.now().boot, rate: result.rate)
            for sensor in sensors {
                let stream = sensor.quantity.stream
                var watch = ReadingMonitor(
                    label: device.label, quantity: sensor.quantity, range: sensor.range,
                    notes: result.notes[stream] ?? [], isProven: proven.contains(stream))
                if let note = stamper.note { watch.note(note) }
                watches[stream] = watch
            }
            try setup.enable()
        } catch {
            setup.disable()
            throw error
        }
        silence = rate.map { max(Self.minSilence, Int64(5e6 / max($0, 1e-3))) } ?? Self.silenceAtUnknownRate
        let now = Moment.now().boot
        silentAt = now + silence
        checkAt = now + Self.checkPeriod
    }

    mutating func takeRest() -> [SampleBlock] {
        guard let bytes = try? file.read() else { return [] }
        return take(bytes)
    }

    mutating func stop() { setup.disable() }

    var proven: Set<SensorStream> { Set(watches.filter(\.value.isProven).keys) }

    var statuses: [SensorStream: SourceStatus] {
        if isSilent {
            let text = "\(setup.device.label) says nothing"
            let status =
                stamper.isUnused
                ? SourceStatus.waiting("\(text): is the interrupt or trigger of its buffer connected?")
                : SourceStatus.stale("\(text) for \(silence / 1_000_000) s")
            return watches.mapValues { _ in status }
        }
        return watches.compactMapValues(\.status)
    }

    mutating func next(_ waker: WakePipe) throws(IIOError) -> [SampleBlock] {
        let deadline = isSilent ? checkAt : min(silentAt, checkAt)
        let readiness = waker.wait(for: file.descriptor, until: deadline)
        if readiness == .woken { return [] }
        // Also where nothing seems to be there: of a device that was unregistered the kernel says neither that there is
        // something to read nor that it is broken, and only a read finds out.
        let bytes = try file.read()
        guard !bytes.isEmpty else {
            if readiness == .deadline { try noteSilence() }
            return []
        }
        return take(bytes)
    }

    /// The deadline has come without a scan.
    private mutating func noteSilence() throws(IIOError) {
        try setup.checkIsOn()
        let now = Moment.now().boot
        isSilent = isSilent || now >= silentAt
        checkAt = now + Self.checkPeriod
    }

    private mutating func take(_ bytes: [UInt8]) -> [SampleBlock] {
        rest += bytes
        let now = Moment.now()
        let count = rest.count / layout.byteCount
        guard count > 0 else { return [] }
        isSilent = false
        silentAt = now.boot + silence
        checkAt = now.boot + Self.checkPeriod
        let bytes = rest.prefix(count * layout.byteCount)
        rest = Array(rest.dropFirst(bytes.count))
        return blocks(of: bytes, count: count, at: now)
    }

    private mutating func blocks(of bytes: ArraySlice<UInt8>, count: Int, at now: Moment) -> [SampleBlock] {
        let own = layout["timestamp"].map { place in
            (0..<count).map { place.type.integer(in: bytes.dropFirst($0 * layout.byteCount + place.offset)) }
        }
        let stamps = stamper.stamp(own: own, count: count, at: now)
        return setup.sensors.compactMap { sensor in
            let stream = sensor.quantity.stream
            let places = IIOQuantity.axes.compactMap { layout["\(sensor.quantity.rawValue)_\($0)"] }
            guard places.count == 3, var watch = watches[stream] else { return nil }
            if let note = stamper.note { watch.note(note) }
            var block = SampleBlock(stream: stream)
            for (index, stamp) in stamps.enumerated() {
                guard case .time(let time) = stamp else {
                    watch.noteLateSample(at: now.boot)
                    continue
                }
                let scan = bytes.dropFirst(index * layout.byteCount)
                let axes = places.map { $0.type.value(in: scan.dropFirst($0.offset)) }
                let raw = SIMD3(axes[0], axes[1], axes[2])
                if watch.take(raw, at: time) {
                    block.append(time: Timestamp(microseconds: time), values: sensor.conversion.values(of: raw))
                }
            }
            watches[stream] = watch
            return block.isEmpty ? nil : block
        }
    }
}
