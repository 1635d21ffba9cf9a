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

    var statuses: [SensorStream: SourceStatus] { hasReading ? [.steps: .running] : [:] }

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
        return deltas.update(count: count, at: now).map { [$0] } ?? []
    }
}
