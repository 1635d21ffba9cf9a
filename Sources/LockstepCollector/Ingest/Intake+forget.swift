import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepStore
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

extension Intake {
    /// Handles a request to forget a device. A device that is online is not forgotten.
    /// - Throws: the reason for a rejection.
    mutating func ingestForget(
        _ message: IncomingMessage, route: Int, _ registry: inout LifecycleRegistry, at moment: Moment
    ) throws {
        // A retained request would be repeated after each connection.
        guard !message.payload.isEmpty, !message.isRetained, let device = topics[route].address else { return }
        try checkSize(of: message)
        let request = try ForgetJSON.decodeRequest(Data(message.payload))
        let id = request.id
        guard scope.contains(device) else {
            return forgetting.add(.init(device: device, id: id, outcome: .other), needsCommit: false)
        }
        guard let index = index(of: device) else {
            return forgetting.add(
                .init(device: device, id: id, outcome: .unknown, deletesUnknown: request.deletesUnknown),
                needsCommit: false)
        }
        reportNewest(of: index, &registry, at: moment)
        guard !registry.isOnline(device, at: moment) else {
            return forgetting.add(.init(device: device, id: id, outcome: .online), needsCommit: false)
        }
        let isNew = !registry.isForgotten(device)
        if isNew { registry.handle(.forget, of: device, at: moment, into: &group) }
        droppedSamples[device] = nil
        forgetting.add(.init(device: device, id: id, outcome: .forgotten), needsCommit: isNew)
    }

    /// Handles the deletion of a device's retained state. Another collector has forgotten the device, or has deleted the
    /// state after the device had returned.
    mutating func ingestDeletedState(_ message: IncomingMessage, route: Int, _ registry: borrowing LifecycleRegistry) {
        guard message.payload.isEmpty, let device = topics[route].address, !registry.isForgotten(device),
            registry.lastTransition(of: device) != nil
        else { return }
        forgetting.addDeletedState(of: device)
    }

    /// Lets a forgotten device be known again, because it has sent a batch that changes no state.
    mutating func recordReturn(of route: Int, _ registry: inout LifecycleRegistry, at moment: Moment) {
        guard registry.hasForgotten, let device = topics[route].address, registry.isForgotten(device),
            hasPlace(registry)
        else { return }
        registry.handle(.backlog, of: device, at: moment, into: &group)
    }
}
