import LockstepModel

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
