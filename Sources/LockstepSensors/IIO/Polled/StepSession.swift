import Glibc
import LockstepModel

/// Polls a hardware step counter.
struct StepSession: IIOSession {
    /// The time between readings, in µs.
    private static let period: Int64 = 1_000_000

    private let device: IIODevice
    private let file: AttributeFile
    /// Whether the session enabled the counter, and must disable it.
    private let wasOff: Bool
    private(set) var deltas: StepDeltas
    /// The time of the next reading, in µs of the boot clock.
    private var deadline: Int64
    private var hasReading = false
    /// The time of the last reading, in µs of the boot clock.
    private var lastReading: Int64 = 0
    private var warnings = StatusWarnings<Warning>()

    private enum Warning: CaseIterable { case implausible }

    /// Enables the counter.
    /// - Parameter deltas: The state of an earlier session of the same counter.
    init(device: IIODevice, deltas: StepDeltas) throws(IIOError) {
        self.device = device
        self.deltas = deltas
        file = try AttributeFile(device.folder["in_steps_input"])
        wasOff = device.folder.text("in_steps_en") == "0"
        if wasOff { try device.folder.write("in_steps_en", "1") }
        deadline = Moment.now().boot
    }

    func stop() { if wasOff { try? device.folder.write("in_steps_en", "0") } }

    var statuses: [SensorStream: SourceStatus] {
        guard hasReading else { return [:] }
        let texts = warnings.texts(at: lastReading)
        return [.steps: texts.isEmpty ? .running : .degraded("\(device.label): \(texts.joined(separator: "; "))")]
    }

    func checkPresence() throws(IIOError) { _ = try device.folder.read("in_steps_input") }

    mutating func next(_ waker: WakePipe, until limit: Int64) throws(IIOError) -> [SampleBlock] {
        if waker.wait(until: min(deadline, limit)) == .woken {
            try checkPresence()
            return []
        }
        guard Moment.now().boot >= deadline else { return [] }
        let reading = try file.number()
        let now = Moment.now().boot
        deadline = max(deadline + Self.period, now)
        // Skip an invalid reading. If it counted as 0, all steps of the next count would be new.
        guard let count = StepDeltas.count(of: reading) else { return [] }
        hasReading = true
        lastReading = now
        let known = deltas.implausible?.count ?? 0
        let block = deltas.update(count: count, at: now)
        if let (changes, from, to) = deltas.implausible, changes > known {
            warnings.add(.implausible, at: now) { _ in
                "the step counter went from \(from) to \(to), which nobody can walk in that time: not counted "
                    + "(\(counted(changes, "time")))"
            }
        }
        return block.map { [$0] } ?? []
    }
}
