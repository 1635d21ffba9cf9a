import Glibc
package import LockstepModel

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

    mutating func next(_ waker: Wakeup, until limit: Int64) throws(IIOError) -> [SampleBlock] {
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

/// Converts the readings of a cumulative step counter to samples of the `steps` stream.
///
/// The first reading is the baseline. A counter may start again from 0, wrap around after 16 or 32 bits, jump, or count
/// back. A change that nobody can walk in that time is no steps: it only sets a new baseline.
package struct StepDeltas: Sendable {
    /// The largest plausible number of steps a second. Sprinters make 4.5 to 5.
    package static let maxRate = 5.0
    /// How long a counter may take to report steps, in µs: many report the first steps of a walk together.
    package static let latency: Int64 = 3_000_000

    /// The number of changes that were not plausible, and the last one.
    package private(set) var implausible: (count: Int, from: Int64, to: Int64)?

    private struct Reading {
        var count: Int64
        var time: Int64
        /// When steps were last counted, at most ``latency`` ago.
        var counted: Int64
    }

    private var last: Reading?
    /// The last reading before an implausible one or a restart: the counter may return to it.
    private var trusted: Reading?
    /// The time of the last sample.
    private var end: Int64?

    package init() {}

    /// Returns a reading as a count; nil if it is not a whole number from 0.
    package static func count(of reading: Double) -> Int64? {
        Int64(exactly: reading).flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Processes the count at `time`, in µs of the boot clock.
    /// - Returns: One sample with the steps since the last reading, with times of the boot clock; nil if there are
    ///   none.
    package mutating func update(count: Int64, at time: Int64) -> SampleBlock? {
        guard let before = last else {
            last = Reading(count: count, time: time, counted: time)
            return nil
        }
        guard time > before.time else { return nil }
        var origin = before
        var change = Self.change(from: before, to: count, at: time)
        if change == nil, let trusted, case .forward(let steps)? = Self.change(from: trusted, to: count, at: time) {
            (origin, change) = (trusted, .forward(steps))
        }
        guard let change else {
            implausible = ((implausible?.count ?? 0) + 1, before.count, count)
            trusted = trusted ?? before
            last = Reading(count: count, time: time, counted: time)
            return nil
        }
        var steps = count
        trusted = before
        if case .forward(let difference) = change { (steps, trusted) = (difference, nil) }
        last = Reading(count: count, time: time, counted: steps > 0 ? time : max(before.counted, time - Self.latency))
        guard steps > 0 else { return nil }
        // Steps that were reported late were made in the time before, but after those of the last sample.
        let walking = Int64((Double(steps) / Self.maxRate * 1e6).rounded(.up))
        let start = max(end ?? .min, min(origin.time, max(origin.counted, time - walking)))
        end = time
        var block = SampleBlock(stream: .steps)
        // The counter reports steps late and several at a time, so a cadence would be wrong.
        block.append(
            time: Timestamp(microseconds: time), values: [Double(start), Double(steps), .nan, .nan, .nan, .nan])
        return block
    }

    /// A plausible change of the count.
    private enum Change {
        /// The counter went on, with these steps.
        case forward(Int64)
        /// The counter started again: all of its steps are new.
        case restart
    }

    /// Returns the change between two readings; nil if nobody can walk that in the time.
    private static func change(from before: Reading, to count: Int64, at time: Int64) -> Change? {
        let since = max(time - before.time, min(time - before.counted, latency))
        let limit = Int64((Double(since) / 1e6 * maxRate).rounded(.up))
        // Counters have 16, 32 or more bits.
        for width in [0, 1 << 16, 1 << 32] as [Int64] {
            let difference = count + width - before.count
            if difference >= 0, difference <= limit, width == 0 || before.count < width { return .forward(difference) }
        }
        // A counter that starts again is far below; one that is slightly below has counted back.
        return count <= limit && 2 * count < before.count ? .restart : nil
    }
}
