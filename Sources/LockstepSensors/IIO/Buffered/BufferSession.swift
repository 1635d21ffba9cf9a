import Glibc
import LockstepModel

/// Reads whole scans from a device's buffer.
struct BufferSession: IIOSession {
    /// The minimum of ``silence``, in µs.
    private static let minSilence: Int64 = 5_000_000
    /// The value of ``silence`` if the rate is unknown, in µs.
    private static let silenceAtUnknownRate: Int64 = 30_000_000
    /// The interval, in µs, at which a sensor without scans is checked for its existence.
    private static let checkPeriod: Int64 = 20_000_000

    private let setup: BufferSetup
    private let layout: ScanLayout
    private let file: DeviceFile
    private var stamper: ScanStamper
    private var monitors: [SensorStream: ReadingMonitor] = [:]
    /// The bytes of an incomplete scan.
    private var rest: [UInt8] = []
    /// The time without scans, in µs, after which the sensor is reported as silent.
    private let silence: Int64
    /// The time at which the sensor counts as silent if no scan arrives, in µs of the boot clock.
    private var silentAt: Int64
    /// The time of the next check that the sensor exists, in µs of the boot clock.
    private var checkAt: Int64
    private var isSilent = false

    /// Opens the device, configures its buffer and enables it.
    /// - Parameter linger: How long scans are collected before they are read, in µs.
    /// - Throws: ``IIOError``; the buffer is then disabled.
    init(
        device: IIODevice, buffer: IIOBuffer, sensors: [IIOSensor], triggers: [String], tree: IIOTree,
        rates: [SensorStream: Double], linger: Int64, proven: Set<SensorStream>
    ) throws(IIOError) {
        setup = BufferSetup(
            device: device, buffer: buffer, sensors: sensors, triggers: triggers, triggerFolders: tree.triggers(),
            linger: linger)
        // Open the device first: if another program uses it, its settings must not be changed.
        file = try DeviceFile(tree.bufferOpener, device.node, buffer)
        let rate: Double?
        do throws(IIOError) {
            let result = try setup.configure(rates)
            rate = result.rate
            layout = result.layout
            stamper = ScanStamper(clock: result.clock, startedAt: Moment.now().boot, rate: result.rate)
            for sensor in sensors {
                let stream = sensor.quantity.stream
                var monitor = ReadingMonitor(
                    label: device.label, quantity: sensor.quantity, range: sensor.range,
                    notes: result.notes[stream] ?? [], isProven: proven.contains(stream))
                if let note = stamper.note { monitor.note(note) }
                monitors[stream] = monitor
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

    mutating func takeRemainder() -> [SampleBlock] {
        guard let bytes = try? file.read() else { return [] }
        return take(bytes)
    }

    mutating func stop() { setup.disable() }

    var proven: Set<SensorStream> { Set(monitors.filter(\.value.isProven).keys) }

    var statuses: [SensorStream: SourceStatus] {
        if isSilent {
            let label = setup.device.label
            let status =
                stamper.isUnused
                ? SourceStatus.waiting(
                    "\(label) delivers no scans: check that the interrupt or trigger of its buffer is connected")
                : SourceStatus.stale("\(label) has delivered no scans for \(silence / 1_000_000) s")
            return monitors.mapValues { _ in status }
        }
        return monitors.compactMapValues(\.status)
    }

    func checkPresence() throws(IIOError) { try setup.checkIsEnabled() }

    mutating func next(_ waker: Wakeup, until limit: Int64) throws(IIOError) -> [SampleBlock] {
        let deadline = isSilent ? checkAt : min(silentAt, checkAt)
        let readiness = waker.wait(for: file.descriptor, until: min(deadline, limit))
        if readiness == .woken {
            try checkPresence()
            return []
        }
        // Read after a timeout too: poll() does not report that a device was unregistered; only a read fails.
        let bytes = try file.read()
        guard !bytes.isEmpty else {
            if readiness == .deadline, Moment.now().boot >= deadline { try noteSilence() }
            return []
        }
        return take(bytes)
    }

    /// Handles a deadline without a scan.
    private mutating func noteSilence() throws(IIOError) {
        try setup.checkIsEnabled()
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
            let channels = sensor.quantity.channels
            let places = channels.compactMap { layout[$0] }
            guard places.count == channels.count, var monitor = monitors[stream] else { return nil }
            if let note = stamper.note { monitor.note(note) }
            var block = SampleBlock(stream: stream)
            for (index, stamp) in stamps.enumerated() {
                guard case .time(let time) = stamp else {
                    monitor.noteLateSample(at: now.boot)
                    continue
                }
                let scan = bytes.dropFirst(index * layout.byteCount)
                var raw = SIMD3<Double>.zero
                for (axis, place) in places.enumerated() {
                    raw[axis] = place.type.value(in: scan.dropFirst(place.offset))
                }
                if monitor.accept(raw, at: time) {
                    block.append(time: Timestamp(microseconds: time), values: sensor.conversion.values(of: raw))
                }
            }
            monitors[stream] = monitor
            return block.isEmpty ? nil : block
        }
    }
}
