import Synchronization

/// The number of samples that slow subscribers have missed, over all subscriptions.
final class DroppedSamples: Sendable {
    private let total = Atomic<Int64>(0)

    var count: Int64 { total.load(ordering: .relaxed) }

    func add(_ samples: Int64) {
        if samples > 0 { total.add(samples, ordering: .relaxed) }
    }
}
