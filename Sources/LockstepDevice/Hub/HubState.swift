import LockstepModel
import LockstepSensors

/// What a hub's lock guards.
struct HubState {
    typealias Continuation = AsyncThrowingStream<SensorUpdate, any Error>.Continuation

    struct Reader {
        let continuation: Continuation
        /// The sources whose samples it gets, and that have not ended.
        var awaited: Set<Int>
    }

    var graph: SensorGraph
    var readers: [Subscriber: Reader] = [:]
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Cancelled, and perhaps not yet at their end: a source runs once at a time.
    var stopping: [Int: Task<Void, Never>] = [:]
    /// Recordings that have come to their end while somebody still asks for their streams.
    var ended: Set<Int> = []
    var statuses: [Int: SourceStatus] = [:]

    private var line: TimeLine
    private var stamper = SampleStamper()
    private var observedAt: Int64

    init(graph: SensorGraph, now: Moment) {
        self.graph = graph
        line = TimeLine(at: now)
        observedAt = now.boot
    }

    /// The sources that these requests take samples of, be it through derived streams.
    func inputs(of requests: [SensorStream: SensorRequest], from sources: [any SensorSource]) -> Set<Int> {
        var alone = graph
        alone.removeAllSubscribers()
        _ = alone.ask(alone.addSubscriber(), for: requests)
        let streams = Set(alone.sourceRates.keys)
        return Set(sources.indices.filter { !streams.isDisjoint(with: sources[$0].streams) })
    }

    mutating func accept(_ samples: SampleBlock, clock: SampleClock, at moment: Moment) {
        // Once a second is what the time line asks for.
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

    /// Takes leave of the readers that get nothing more when `source` has ended.
    mutating func endReaders(of source: Int, byFailure isFailure: Bool) -> [Continuation] {
        var done: [Continuation] = []
        for (subscriber, reader) in readers where reader.awaited.contains(source) {
            readers[subscriber]?.awaited.remove(source)
            guard isFailure || reader.awaited.count == 1 else { continue }
            readers[subscriber] = nil
            _ = graph.ask(subscriber, for: [:])
            done.append(reader.continuation)
        }
        return done
    }

    func deliver(_ outputs: [SensorOutput]) {
        for output in outputs { readers[output.subscriber]?.continuation.yield(.samples(output.samples)) }
    }
}
