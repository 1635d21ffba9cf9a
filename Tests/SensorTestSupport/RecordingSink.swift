public import LockstepModel
public import LockstepSensors
import Synchronization

/// Records the output of a source and lets a test wait for it.
public final class RecordingSink: SampleSink {
    /// The output of the source so far.
    public struct Seen: Sendable {
        /// The blocks in the order of their delivery.
        public var blocks: [SampleBlock] = []
        /// The clocks of the blocks.
        public var clocks: Set<SampleClock> = []
        /// The statuses in the order of the reports.
        public var statuses: [SourceStatus] = []

        /// Returns all samples of a stream as one block.
        public func samples(_ stream: SensorStream) -> SampleBlock {
            var all = SampleBlock(stream: stream)
            for block in blocks where block.stream == stream {
                for index in block.times.indices {
                    all.append(time: Timestamp(microseconds: block.times[index]), values: block.values(at: index))
                }
            }
            return all
        }
    }

    private struct State {
        var seen = Seen()
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private struct Waiter {
        let isMet: @Sendable (Seen) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private let state = Mutex(State())

    /// Creates a sink without output.
    public init() {}

    /// The output of the source so far.
    public var seen: Seen { state.withLock { $0.seen } }

    /// Records samples and their clock.
    public func accept(_ samples: SampleBlock, clock: SampleClock) async {
        change {
            $0.blocks.append(samples)
            $0.clocks.insert(clock)
        }
    }

    /// Records a status.
    public func report(_ status: SourceStatus, from source: String) {
        change { $0.statuses.append(status) }
    }

    /// Waits until `isMet` returns true for the output so far.
    /// - Returns: false if that does not happen within `seconds`.
    public func wait(seconds: Double = 120, until isMet: @escaping @Sendable (Seen) -> Bool) async -> Bool {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let deadline = Task {
            try await Task.sleep(for: .seconds(seconds))
            state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume(returning: false)
        }
        defer { deadline.cancel() }
        return await withCheckedContinuation { continuation in
            let isAlready = state.withLock { state in
                if isMet(state.seen) { return true }
                state.waiters[number] = Waiter(isMet: isMet, continuation: continuation)
                return false
            }
            if isAlready { continuation.resume(returning: true) }
        }
    }

    private func change(_ body: (inout Seen) -> Void) {
        let met = state.withLock { state in
            body(&state.seen)
            let met = state.waiters.filter { $0.value.isMet(state.seen) }
            for number in met.keys { state.waiters[number] = nil }
            return met.values.map(\.continuation)
        }
        for continuation in met { continuation.resume(returning: true) }
    }
}

/// Runs a source during `body`, then cancels the source and waits for its end.
public func withRunning<Result: Sendable>(
    _ source: any SensorSource, body: (RecordingSink) async throws -> Result
) async throws -> Result {
    let sink = RecordingSink()
    let running = Task { try await source.run(into: sink) }
    do {
        let result = try await body(sink)
        running.cancel()
        try await running.value
        return result
    } catch {
        running.cancel()
        _ = await running.result
        throw error
    }
}

/// Runs a source to its end and returns its output.
public func play(_ source: any SensorSource) async throws -> RecordingSink.Seen {
    let sink = RecordingSink()
    try await source.run(into: sink)
    return sink.seen
}
