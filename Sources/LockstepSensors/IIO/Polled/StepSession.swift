import Glibc
import LockstepModel

/// A hardware step counter, looked at every so often.
struct StepSession: IIOSession {
    /// µs between two looks.
    private static let period: Int64 = 1_000_000

    private let device: IIODevice
    private let file: AttributeFile
    private let wasOff: Bool
    private(set) var deltas: StepDeltas
    private var due: Int64
    private var hasSpoken = false

    /// - Parameter deltas: what is known of the counter.
    init(device: IIODevice, deltas: StepDeltas) throws(IIOError) {
        self.device = device
        self.deltas = deltas
        file = try AttributeFile(device.folder["in_steps_input"])
        wasOff = device.folder.text("in_steps_en") == "0"
        if wasOff { try device.folder.write("in_steps_en", "1") }
        due = Moment.now().boot
    }

    func stop() { if wasOff { try? device.folder.write("in_steps_en", "0") } }

    var statuses: [SensorStream: SourceStatus] { hasSpoken ? [.steps: .running] : [:] }

    mutating func next(_ waker: WakePipe) throws(IIOError) -> [SampleBlock] {
        if waker.wait(until: due) == .woken { return [] }
        let reading = try file.number()
        let now = Moment.now().boot
        due = max(due + Self.period, now)
        // What is no count is skipped: taken for 0, it would make steps of all that is counted next.
        guard let count = StepDeltas.count(of: reading) else { return [] }
        hasSpoken = true
        return deltas.update(count: count, at: now).map { [$0] } ?? []
    }
}
