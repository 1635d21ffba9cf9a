public import LockstepModel
public import LockstepSensors
import Synchronization

/// The sensors of this device, shared by all subscribers in a program.
///
/// A sensor runs while it has subscribers, at the fastest rate that any of them requests; each subscriber receives its
/// own rate. A source starts with the first subscription to one of its streams and stops with the last. The hub itself
/// needs no start or stop.
///
/// Streams that no source provides are derived from others where possible: device motion, steps, orientation, altitude,
/// heading.
public final class SensorHub: Sendable {
    private let sources: [any SensorSource]
    private let state: Mutex<HubState>

    /// The available streams: built-in streams in the order of ``/LockstepModel/SensorStream/builtIn``, then declared
    /// streams by name.
    public let streams: [SensorStream]

    /// Creates a hub. Its sources start with the first subscription.
    /// - Parameter options: The settings of the derived streams, such as the person's height and the magnetic
    ///   declination.
    public init(sources: [any SensorSource], options: DerivedOptions = DerivedOptions()) {
        self.sources = sources
        let graph = SensorGraph(sources: sources, options: options)
        streams = graph.streams
        state = Mutex(HubState(graph: graph, now: .now()))
    }

    /// Returns all sensors of the sources, including unusable ones with the reason.
    public func sensors() -> [SensorDescription] { sources.flatMap { $0.sensors() } }

    /// The names of the running sources.
    public var runningSources: [String] {
        let running = state.withLock { Set($0.tasks.keys) }
        return sources.indices.filter(running.contains).map { sources[$0].name }
    }

    /// Subscribes to streams and returns their samples and the statuses of their sources.
    ///
    /// The subscription ends when the loop over the sequence ends, its task is cancelled, or the sequence is
    /// deallocated. If a reader is more than 1,000 updates behind, the oldest are dropped. The sequence ends when all
    /// its sources have ended (recordings).
    /// - Throws: During iteration, ``SensorHubError`` if a stream is not available, or the error that ended a source.
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

    /// Adds a subscriber and starts the sources that it needs.
    /// - Returns: nil if all sources of the requested streams have ended.
    private func subscribe(
        _ requests: [SensorStream: SensorRequest], _ continuation: HubState.Continuation
    ) -> Subscriber? {
        state.withLock { state in
            let awaited = state.inputs(of: requests, from: sources).subtracting(state.ended)
            guard !awaited.isEmpty else { return nil }
            let subscriber = state.graph.addSubscriber()
            state.readers[subscriber] = HubState.Reader(continuation: continuation, awaited: awaited)
            state.deliver(state.graph.setRequests(requests, for: subscriber))
            updateSources(&state)
            for source in awaited {
                if let status = state.statuses[source] { continuation.yield(update(status, of: source)) }
            }
            return subscriber
        }
    }

    private func unsubscribe(_ subscriber: Subscriber) {
        state.withLock { state in
            guard state.readers.removeValue(forKey: subscriber) != nil else { return }
            state.deliver(state.graph.setRequests([:], for: subscriber))
            updateSources(&state)
        }
    }

    /// Starts and stops the sources and sets their rates according to the requests.
    private func updateSources(_ state: inout HubState) {
        let rates = state.graph.sourceRates
        for (index, source) in sources.enumerated() {
            // Under the lock, so that concurrent calls set the rates in order.
            source.setRates(rates)
            let isRequested = source.streams.contains { rates[$0] != nil }
            if isRequested, state.tasks[index] == nil, !state.ended.contains(index) {
                let previous = state.stopping.removeValue(forKey: index)
                state.tasks[index] = Task { [self] in
                    await previous?.value
                    await run(index)
                }
            } else if !isRequested {
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
            // Check under the lock under which the task is cancelled. After a cancellation a new run may have started,
            // and its state must not be changed.
            guard !Task.isCancelled else { return [] }
            state.deliver(state.graph.restart(of: Set(sources[index].streams)))
            state.tasks[index] = nil
            if failure == nil { state.ended.insert(index) }
            let done = state.endReaders(of: index, byFailure: failure != nil)
            updateSources(&state)
            return done
        }
        // Outside of the lock, because the continuations' termination handlers acquire it.
        for continuation in done { continuation.finish(throwing: failure) }
    }

    fileprivate func accept(_ samples: SampleBlock, clock: SampleClock) {
        let moment = Moment.now()
        state.withLock { $0.accept(samples.droppingIncomplete(), clock: clock, at: moment) }
    }

    fileprivate func report(_ status: SourceStatus, of source: Int) {
        state.withLock { state in
            // Ignore a status from a stopped run: it would be wrong for later subscribers.
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

/// An update for a subscriber of a ``SensorHub``.
public enum SensorUpdate: Sendable {
    /// Samples of one of the requested streams.
    case samples(SampleBlock)
    /// The wall clock was stepped: later samples may have earlier timestamps.
    case clockStepped
    /// The status of a source that provides samples, and all streams of the source.
    case status(SourceStatus, source: String, streams: [SensorStream])
}

/// Passes the samples of one source to the hub.
private struct HubSink: SampleSink {
    let hub: SensorHub
    let source: Int

    func accept(_ samples: SampleBlock, clock: SampleClock) async { hub.accept(samples, clock: clock) }
    func report(_ status: SourceStatus, from _: String) { hub.report(status, of: source) }
}
