import Dispatch
import LockstepModel
import LockstepRules
import LockstepSensors
import Synchronization

/// Passes the samples of a recording to rules.
final class RehearsalSink: SampleSink {
    private struct State {
        var rehearsal: Rehearsal
        /// The time of the last sample, in µs.
        var last: Int64 = 0
        var problem: (any Error)?
        var warning: String?
    }

    private let state: Mutex<State>
    private let address: DeviceAddress

    init(_ rehearsal: Rehearsal, _ address: DeviceAddress) {
        state = Mutex(State(rehearsal: rehearsal))
        self.address = address
    }

    /// Plays a recording to its end. Blocks the thread.
    func run(_ source: ReplaySource) throws {
        let isDone = DispatchSemaphore(value: 0)
        Task.detached { [self] in
            do { try await source.run(into: self) } catch { state.withLock { $0.problem = error } }
            isDone.signal()
        }
        isDone.wait()
        if let problem = state.withLock({ $0.problem }) { throw problem }
    }

    func accept(_ samples: SampleBlock, clock: SampleClock) async {
        state.withLock { state in
            state.rehearsal.add(samples, of: address)
            state.last = max(state.last, samples.times.last ?? 0)
        }
    }

    func report(_ status: SourceStatus, from source: String) {
        if case .degraded(let reason) = status { state.withLock { $0.warning = reason } }
    }

    /// What was left out of the recording; nil if nothing was.
    var warning: String? { state.withLock { $0.warning } }

    /// The events so far.
    var events: [RuleEvent] {
        state.withLock { $0.rehearsal.events(until: Timestamp(microseconds: $0.last)) }
    }
}
