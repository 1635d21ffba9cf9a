import LockstepMQTT
import LockstepModel
import LockstepSensors
import Synchronization

/// Where sources and signals leave what the agent's loop takes out.
///
/// Sources wait while it is too full, so that a recording read at full speed does not fill the memory.
final class Inbox: SampleSink {
    enum Item: Sendable {
        case samples(SampleBlock, SampleClock)
        case status(SourceStatus, source: String)
        case sourceEnded(source: String, (any Error)?)
        case phase(Phase, reason: String)
        case stop
    }

    private struct State {
        var items: [Item] = []
        var samples = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    private static let mostSamples = 4096

    private let state = Mutex(State())
    private let wakeup: Wakeup

    init(wakeup: Wakeup) { self.wakeup = wakeup }

    func accept(_ samples: SampleBlock, clock: SampleClock) async {
        post(.samples(samples, clock))
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.isClosed || state.samples <= Self.mostSamples { return true }
                state.waiting.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    func report(_ status: SourceStatus, from source: String) { post(.status(status, source: source)) }

    func post(_ item: Item) {
        state.withLock { state in
            guard !state.isClosed else { return }
            if case .samples(let block, _) = item { state.samples += block.count }
            state.items.append(item)
        }
        wakeup.signal()
    }

    /// Takes everything out and lets waiting sources go on.
    func drain() -> [Item] {
        let (items, waiting) = state.withLock { state in
            let taken = (state.items, state.waiting)
            state.items = []
            state.waiting = []
            state.samples = 0
            return taken
        }
        for continuation in waiting { continuation.resume() }
        return items
    }

    /// Takes nothing in from now on, and holds nobody up.
    func close() -> [Item] {
        state.withLock { $0.isClosed = true }
        return drain()
    }
}
