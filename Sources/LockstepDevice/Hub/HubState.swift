import LockstepModel
import LockstepSensors

/// The state that a hub's lock protects.
struct HubState {
    typealias Continuation = AsyncThrowingStream<SensorUpdate, any Error>.Continuation

    /// The receiving end of a subscription.
    struct Reader {
        let continuation: Continuation
        /// The indices of the sources that provide its samples and have not ended.
        var awaited: Set<Int>
    }

    var graph: SensorGraph
    var readers: [Subscriber: Reader] = [:]
    /// The tasks of the running sources, by the index of the source.
    var tasks: [Int: Task<Void, Never>] = [:]
    /// The cancelled tasks that may still run, by the index of the source. The next run of a source waits for its task.
    var stopping: [Int: Task<Void, Never>] = [:]
    /// The indices of sources that have ended (recordings) while their streams are still requested.
    var ended: Set<Int> = []
    /// The last statuses, by the index of the source.
    var statuses: [Int: SourceStatus] = [:]

    private var line: TimeLine
    private var stamper = SampleStamper()
    /// The boot time of the last comparison of the time line with the wall clock, in µs.
    private var observedAt: Int64

    init(graph: SensorGraph, now: Moment) {
        self.graph = graph
        line = TimeLine(at: now)
        observedAt = now.boot
    }

    /// Returns the indices of the sources that provide samples for these requests, directly or through derived streams.
    func inputs(of requests: [SensorStream: SensorRequest], from sources: [any SensorSource]) -> Set<Int> {
        var alone = graph
        alone.removeAllSubscribers()
        _ = alone.setRequests(requests, for: alone.addSubscriber())
        let streams = Set(alone.sourceRates.keys)
        return Set(sources.indices.filter { !streams.isDisjoint(with: sources[$0].streams) })
    }

    /// Distributes samples of a source to the readers.
    mutating func accept(_ samples: SampleBlock, clock: SampleClock, at moment: Moment) {
        // The time line must be compared with the wall clock about once a second.
        if moment.boot - observedAt >= 1_000_000 {
            observedAt = moment.boot
            if case .stepped = line.observe(moment) {
                deliver(graph.restart())
                stamper.startEpoch()
                for reader in readers.values { reader.continuation.yield(.clockStepped) }
            }
        }
        deliver(graph.update(clock == .boot ? stamper.stamp(samples, on: line) : samples))
    }

    /// Removes the readers that receive no more samples after `source` has ended, and returns their continuations.
    /// - Parameter isFailure: Whether the source has failed, which ends all its readers.
    mutating func endReaders(of source: Int, byFailure isFailure: Bool) -> [Continuation] {
        var done: [Continuation] = []
        for (subscriber, reader) in readers where reader.awaited.contains(source) {
            readers[subscriber]?.awaited.remove(source)
            guard isFailure || reader.awaited.count == 1 else { continue }
            readers[subscriber] = nil
            _ = graph.setRequests([:], for: subscriber)
            done.append(reader.continuation)
        }
        return done
    }

    /// Yields samples to the readers.
    func deliver(_ outputs: [SensorOutput]) {
        for output in outputs { readers[output.subscriber]?.continuation.yield(.samples(output.samples)) }
    }
}
