import LockstepModel
import LockstepWire

/// What the collector must publish about devices that are forgotten.
struct Forgetting {
    /// A request to forget a device, and its outcome.
    struct Request {
        let device: DeviceAddress
        /// The id that the client has given, or nil.
        let id: String?
        let outcome: ForgetAnswer.Outcome
        /// Whether the retained messages of an unknown device are deleted. Another collector may know it.
        var deletesUnknown = false
    }

    /// The requests of the current transaction, which take effect with its commit.
    private(set) var pending: [Request] = []
    /// The requests that need no commit.
    private(set) var answerable: [Request] = []
    /// The forgotten devices with a new presence message that shows only the end of an earlier connection.
    private(set) var ended: [DeviceAddress] = []
    /// The known devices whose retained state was deleted by another client.
    private(set) var deleted: [DeviceAddress] = []

    /// Whether there is something to publish before the next commit.
    var isDue: Bool { !answerable.isEmpty || !ended.isEmpty || !deleted.isEmpty }

    mutating func add(_ request: Request, needsCommit: Bool) {
        if needsCommit || pending.contains(where: { $0.device == request.device }) {
            pending.append(request)
        } else {
            answerable.append(request)
        }
    }

    mutating func addEnd(of device: DeviceAddress) { ended.append(device) }

    mutating func addDeletedState(of device: DeviceAddress) { deleted.append(device) }

    /// Takes the requests that the last commit has carried out.
    mutating func takePending() -> [Request] {
        defer { pending = [] }
        return pending
    }

    /// Takes what to publish before the next commit.
    mutating func takeDue() -> (requests: [Request], ended: [DeviceAddress], deleted: [DeviceAddress]) {
        defer { (answerable, ended, deleted) = ([], [], []) }
        return (answerable, ended, deleted)
    }
}
