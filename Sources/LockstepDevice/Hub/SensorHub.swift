public import LockstepModel
public import LockstepSensors
import Synchronization

/// The sensors of this device, for everyone in this program who wants samples.
///
/// A sensor runs while somebody is subscribed to it, at the fastest rate that anyone asks for; each subscriber gets its
/// own rate. With the last subscription of a source's streams the source is stopped, with the next it runs again. Nobody
/// has to start or stop the hub.
///
/// Streams that no source gives are worked out of others where that can be done: steps, orientation, device motion.
public final class SensorHub: Sendable {
    private let sources: [any SensorSource]
    private let state: Mutex<HubState>

    /// What can be subscribed to, in the order of ``SensorStream/all``.
    public let streams: [SensorStream]

    /// - Parameter options: what derived streams need to know of the person and the place.
    public init(sources: [any SensorSource], options: DerivedOptions = DerivedOptions()) {
        self.sources = sources
        let graph = SensorGraph(sources: sources, options: options)
        streams = graph.streams
        state = Mutex(HubState(graph: graph, now: .now()))
    }

    /// What sensors there are, with the reason where one can't be used.
    public func sensors() -> [SensorDescription] { sources.flatMap { $0.sensors() } }

    /// The names of the sources that run now: those of which a stream is wanted.
    public var runningSources: [String] {
        let running = state.withLock { Set($0.tasks.keys) }
        return sources.indices.filter(running.contains).map { sources[$0].name }
    }

    /// Samples and news of the sources, from now on.
    ///
    /// The subscription lasts as long as the sequence is read: it ends with the loop, with the task, or with the last
    /// reference to it. A reader that is behind by more than 1,000 blocks loses the oldest. The sequence ends when all
    /// its sources have come to their end (recordings).
    /// - Throws: while it is read ``SensorHubError`` if a stream is not available, and what ends a source.
    public func updates(
        for requests: [SensorStream: SensorRequest]
    ) -> AsyncThrowingStream<SensorUpdate, any Error> {
        AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1000)) { continuation in
            if let missing = requests.keys.first(where: { !streams.contains($0) }) {
                continuation.finish(throwing: SensorHubError.notAvailable(missing, sensors()))
                return
            }
            guard let subscriber = subscribe(requests, continuation) else {
                continuation.finish()
                return
            }
            continuation.onTermination = { _ in self.unsubscribe(subscriber) }
        }
    }

    /// - Returns: nil where all sources that would take part have come to their end.
    private func subscribe(
        _ requests: [SensorStream: SensorRequest], _ continuation: HubState.Continuation
    ) -> Subscriber? {
        state.withLock { state in
            let awaited = state.inputs(of: requests, from: sources).subtracting(state.ended)
            guard !awaited.isEmpty else { return nil }
            let subscriber = state.graph.addSubscriber()
            state.readers[subscriber] = HubState.Reader(continuation: continuation, awaited: awaited)
            state.deliver(state.graph.ask(subscriber, for: requests))
            runWhatIsWanted(&state)
            for source in awaited {
                if let status = state.statuses[source] { continuation.yield(update(status, of: source)) }
            }
            return subscriber
        }
    }

    private func unsubscribe(_ subscriber: Subscriber) {
        state.withLock { state in
            guard state.readers.removeValue(forKey: subscriber) != nil else { return }
            state.deliver(state.graph.ask(subscriber, for: [:]))
            runWhatIsWanted(&state)
        }
    }

    /// Starts, stops and tunes sources by what is asked of their streams.
    private func runWhatIsWanted(_ state: inout HubState) {
        let rates = state.graph.sourceRates
        for (index, source) in sources.enumerated() {
            // In here, so that the last word is the latest.
            source.setRates(rates)
            let isWanted = source.streams.contains { rates[$0] != nil }
            if isWanted, state.tasks[index] == nil, !state.ended.contains(index) {
                let before = state.stopping.removeValue(forKey: index)
                state.tasks[index] = Task { [self] in
                    await before?.value
                    await run(index)
                }
            } else if !isWanted {
                state.ended.remove(index)
                state.statuses[index] = nil
                guard let task = state.tasks.removeValue(forKey: index) else { continue }
                task.cancel()
                state.stopping[index] = task
            }
        }
    }

    private func run(_ index: Int) async {
        var failure: (any Error)?
        do {
            try await sources[index].run(into: HubSink(hub: self, source: index))
        } catch {
            failure = error
        }
        let done: [HubState.Continuation] = state.withLock { state in
            // In here, where it is cancelled: by then another run may have begun, which is not at its end.
            guard !Task.isCancelled else { return [] }
            state.deliver(state.graph.restart(of: Set(sources[index].streams)))
            state.tasks[index] = nil
            if failure == nil { state.ended.insert(index) }
            let done = state.endReaders(of: index, byFailure: failure != nil)
            runWhatIsWanted(&state)
            return done
        }
        // Without the lock, which the end of a subscription takes.
        for continuation in done { continuation.finish(throwing: failure) }
    }

    fileprivate func accept(_ samples: SampleBlock, clock: SampleClock) {
        let moment = Moment.now()
        state.withLock { $0.accept(samples.droppingIncomplete(), clock: clock, at: moment) }
    }

    fileprivate func report(_ status: SourceStatus, of source: Int) {
        state.withLock { state in
            // The last words of a run that was stopped are not for whoever comes next.
            guard state.tasks[source] != nil, state.statuses.updateValue(status, forKey: source) != status else {
                return
            }
            for reader in state.readers.values where reader.awaited.contains(source) {
                reader.continuation.yield(update(status, of: source))
            }
        }
    }

    private func update(_ status: SourceStatus, of source: Int) -> SensorUpdate {
        .status(status, source: sources[source].name, streams: sources[source].streams)
    }
}

/// What a subscriber of a ``SensorHub`` hears.
public enum SensorUpdate: Sendable {
    /// Samples of one of the streams asked for.
    case samples(SampleBlock)
    /// The clock was set to another time: what comes next may be earlier than what came before.
    case clockStepped
    /// How a source that takes part is now; `streams` are those that it gives.
    case status(SourceStatus, source: String, streams: [SensorStream])
}

/// Takes the samples of one source.
private struct HubSink: SampleSink {
    let hub: SensorHub
    let source: Int

    func accept(_ samples: SampleBlock, clock: SampleClock) async { hub.accept(samples, clock: clock) }
    func report(_ status: SourceStatus, from _: String) { hub.report(status, of: source) }
}
