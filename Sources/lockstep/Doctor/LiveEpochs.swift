import LockstepModel

/// The order of the epochs of a device's live batches and sessions.
///
/// An agent ends an epoch before it begins the next one. If an epoch continues after another one, several agents publish
/// under the name of the device.
struct LiveEpochs {
    private var last: Epoch?
    private var earlier: Set<Epoch> = []
    /// Whether an epoch has continued after another one.
    private(set) var alternate = false

    /// Adds the epoch of a live batch, or of the first presence of a session.
    mutating func add(_ epoch: Epoch) {
        guard epoch != last else { return }
        if let last { earlier.insert(last) }
        if earlier.contains(epoch) { alternate = true }
        last = epoch
    }
}
