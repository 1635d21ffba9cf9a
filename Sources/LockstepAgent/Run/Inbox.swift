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

        /// Whether a source may go on.
        var hasRoom: Bool { isClosed || samples <= Inbox.mostSamples }
    }

    private static let mostSamples = 4096

    private let state = Mutex(State())
    private let wakeup: Wakeup

    init(wakeup: Wakeup) { self.wakeup = wakeup }

    func accept(_ samples: SampleBlock, clock: SampleClock) async {
        if post(.samples(samples, clock)) { return }
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.hasRoom { return true }
                state.waiting.append(continuation)
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    func report(_ status: SourceStatus, from source: String) { post(.status(status, source: source)) }

    /// Wakes the loop, unless something is here already: then it was woken for that, and takes this out as well.
    /// - Returns: whether there is room for more.
    @discardableResult
    func post(_ item: Item) -> Bool {
        let (isFirst, hasRoom) = state.withLock { state in
            guard !state.isClosed else { return (false, true) }
            let isFirst = state.items.isEmpty
            if case .samples(let block, _) = item { state.samples += block.count }
            state.items.append(item)
            return (isFirst, state.hasRoom)
        }
        if isFirst { wakeup.signal() }
        return hasRoom
    }

    /// Whether there is nothing to take out.
    var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

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
