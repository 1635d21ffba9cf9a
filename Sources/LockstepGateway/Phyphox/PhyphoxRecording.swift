import LockstepModel

/// The progress of reading a phone. It gives the requests and takes the answers, without I/O.
struct PhyphoxRecording {
    /// What to ask the phone.
    enum Request: Equatable {
        /// The sensors of the experiment.
        case config
        /// Values.
        case get(query: String)
        /// The times of starts and pauses.
        case time

        var path: String {
            switch self {
            case .config: "/config"
            case .get(let query): "/get?" + query
            case .time: "/time"
            }
        }
    }

    private let phone: PhyphoxPhone
    private var inputs: [PhyphoxInput]?
    private var times: PhyphoxTimes?
    /// The session of the phone: another one has other buffers.
    private var session: String?
    /// How far each input has been read, by its index.
    private var last: [Int: PhyphoxInput.Progress] = [:]

    init(_ phone: PhyphoxPhone) { self.phone = phone }

    /// The requests of a poll, in this order. `/time` comes last, so that a deletion of the data before is noticed.
    var requests: [Request] {
        guard let inputs else { return [.config] }
        var query: [String] = []
        for input in inputs {
            // Two inputs may share a buffer. Both get what one of them still needs.
            let thresholds = inputs.indices.filter { inputs[$0].time == input.time }.map { last[$0]?.threshold }
            let threshold = thresholds.contains(nil) ? nil : thresholds.compactMap { $0 }.min()
            for parameter in input.query(after: threshold) where !query.contains(parameter) { query.append(parameter) }
        }
        return [.get(query: query.joined(separator: "&")), .time]
    }

    /// The request for the last times only, with which a recording that is too large is skipped.
    var newestRequest: Request { .get(query: Set((inputs ?? []).map(\.time)).sorted().joined(separator: "&")) }

    /// Takes the answer to ``newestRequest``: earlier samples are not read.
    /// - Throws: ``Refusal`` if it cannot be read.
    mutating func skip(to bytes: [UInt8]) throws(Refusal) {
        let content = try ForeignJSON.parse(bytes)
        for (index, input) in (inputs ?? []).enumerated() {
            guard let newest = content["buffer"]?[input.time]?["buffer"]?.array?.last?.number else { continue }
            last[index] = PhyphoxInput.Progress(newest)
        }
    }

    /// Whether the experiment has sensors that are read.
    var hasInputs: Bool { inputs?.isEmpty == false }

    /// Lets everything be read again from the start.
    mutating func reset() {
        inputs = nil
        times = nil
        session = nil
        last = [:]
    }

    /// Takes the answer to `/config`.
    /// - Throws: ``Refusal`` if it cannot be read.
    mutating func didReceiveConfig(_ bytes: [UInt8]) throws(Refusal) {
        guard let list = try ForeignJSON.parse(bytes)["inputs"]?.array else {
            throw Refusal(.malformed, "the answer to /config has no 'inputs': phyphox 1.1.8 or later is needed")
        }
        inputs = list.compactMap { PhyphoxInput($0) }
    }

    /// The samples of a poll.
    struct Content: Equatable {
        var report: ForeignReport
        /// The progress after the samples are stored.
        fileprivate var last: [Int: PhyphoxInput.Progress]
    }

    /// Takes the answers of a poll. ``didStore(_:)`` must follow when the samples are on disk.
    /// - Returns: nil if another recording has begun, so that everything must be read again.
    /// - Throws: ``Refusal`` if the answers cannot be read.
    mutating func didReceive(values: [UInt8], times: [UInt8]) throws(Refusal) -> Content? {
        let content = try ForeignJSON.parse(values)
        let newTimes = try PhyphoxTimes(try ForeignJSON.parse(times))
        guard let status = content["status"], let buffer = content["buffer"] else {
            throw Refusal(.malformed, "the answer to /get has no 'status' and 'buffer'")
        }
        let newSession = status["session"]?.string
        let isSame = self.times.map { $0.isContinued(by: newTimes) } ?? true
        guard isSame, session == nil || session == newSession else {
            reset()
            return nil
        }
        self.times = newTimes
        session = newSession
        var result = Content(report: ForeignReport(sender: phone.sender), last: last)
        for (index, input) in (inputs ?? []).enumerated() where newTimes.hasStarted {
            do throws(Refusal) {
                let (readings, newest, omission) = try input.read(buffer, times: newTimes, after: last[index])
                result.report.readings += readings
                if let omission { result.report.omissions.append(omission) }
                result.last[index] = newest
            } catch {
                result.report.omissions.append(error.description)
            }
        }
        let isMeasuring = status["measuring"] == .bool(true)
        result.report.presence = ForeignPresence(
            isMeasuring ? .foreground : .inactive, reason: isMeasuring ? "measuring" : "paused")
        return result
    }

    mutating func didStore(_ content: Content) { last = content.last }
}

/// The relation of the experiment time of phyphox, which stands still while a measurement is paused, to the clock of
/// the phone.
struct PhyphoxTimes: Equatable {
    private struct Start: Equatable {
        /// The experiment time in s.
        let experiment: Double
        /// The time of the phone's clock in µs since 1970.
        let system: Int64
    }

    /// The starts, the first one first.
    private let starts: [Start]

    /// The answer to `/time`: a list of events with both times in s.
    /// - Throws: ``Refusal`` if it is not such a list.
    init(_ content: JSONValue) throws(Refusal) {
        guard let events = content.array else { throw Refusal(.malformed, "the answer to /time is not a list") }
        var starts: [Start] = []
        for event in events where event["event"]?.string == "START" {
            guard let experiment = event["experimentTime"]?.number, experiment.isFinite,
                let system = TimeUnit.seconds.microseconds(ofNumber: event["systemTime"])
            else { throw Refusal(.malformed, "an event of /time has no times") }
            starts.append(Start(experiment: experiment, system: system))
        }
        self.starts = starts
    }

    /// Whether the experiment was started at all since its data was deleted.
    var hasStarted: Bool { !starts.isEmpty }

    /// Returns whether later times belong to the same recording. Deleting the data begins another one.
    func isContinued(by later: PhyphoxTimes) -> Bool { starts.isEmpty || starts.first == later.starts.first }

    /// Returns the time of a sample in µs since 1970; nil before the first start, and out of range.
    /// - Parameter experiment: the experiment time in s.
    func time(at experiment: Double) -> Int64? {
        guard experiment.isFinite, let start = starts.last(where: { $0.experiment <= experiment }) ?? starts.first,
            let offset = TimeUnit.seconds.microseconds(experiment - start.experiment)
        else { return nil }
        return start.system + offset
    }
}
