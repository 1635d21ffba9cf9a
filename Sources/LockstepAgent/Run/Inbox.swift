import LockstepMQTT
import LockstepModel
import LockstepSensors
import Synchronization

/// The queue from sources and signals to the agent's loop.
///
/// Sources wait while it is full (back-pressure), so that a recording read at full speed does not exhaust the memory.
final class Inbox: SampleSink {
    /// An input of the loop.
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
        /// The sources that wait for space.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isClosed = false

        /// Whether a source may continue.
        var hasSpace: Bool { isClosed || samples <= Inbox.maxSamples }
    }

    /// The number of samples above which sources wait.
    private static let maxSamples = 4096

    private let state = Mutex(State())
    private let wakeup: Wakeup

    init(wakeup: Wakeup) { self.wakeup = wakeup }

    func accept(_ samples: SampleBlock, clock: SampleClock) async {
        if post(.samples(samples, clock)) { return }
        await withCheckedContinuation { continuation in
            let canContinue = state.withLock { state in
                if state.hasSpace { return true }
                state.waiting.append(continuation)
                return false
            }
            if canContinue { continuation.resume() }
        }
    }

    func report(_ status: SourceStatus, from source: String) { post(.status(status, source: source)) }

    /// Adds an item, and wakes the loop if it is the first one: one signal covers all items.
    /// - Returns: whether there is space for more samples.
    @discardableResult
    func post(_ item: Item) -> Bool {
        let (isFirst, hasSpace) = state.withLock { state in
            guard !state.isClosed else { return (false, true) }
            let isFirst = state.items.isEmpty
            if case .samples(let block, _) = item { state.samples += block.count }
            state.items.append(item)
            return (isFirst, state.hasSpace)
        }
        if isFirst { wakeup.signal() }
        return hasSpace
    }

    var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

    /// Removes and returns all items, and resumes waiting sources.
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

    /// Removes and returns all items. Later items are discarded, and sources no longer wait.
    func close() -> [Item] {
        state.withLock { $0.isClosed = true }
        return drain()
    }
}
