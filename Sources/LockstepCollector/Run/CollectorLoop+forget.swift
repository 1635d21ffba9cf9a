import LockstepMQTT
import LockstepModel
import LockstepWire
import Logging

extension CollectorLoop {
    /// Publishes what needs no commit: answers to requests, the deletion of presence messages of forgotten devices, and the
    /// states that other clients have deleted.
    func publishForgotten() {
        let (requests, ended, deleted) = intake.forgetting.takeDue()
        for request in requests { finish(request) }
        for device in ended { publish(.presence, of: device, [], qos: .atLeastOnce) }
        for device in deleted {
            if let transition = registry.lastTransition(of: device) { publishState(transition, of: device) }
        }
    }

    /// Publishes what follows from a commit for forgotten devices, and for those that have sent again.
    func settleForgotten(_ returned: [DeviceAddress]) {
        for device in returned {
            if let transition = registry.lastTransition(of: device) { publishState(transition, of: device) }
        }
        for request in intake.forgetting.takePending() {
            // It may have sent again in the same transaction.
            let isForgotten = registry.isForgotten(request.device)
            finish(.init(device: request.device, id: request.id, outcome: isForgotten ? .forgotten : .online))
            guard isForgotten else { continue }
            logger.info("device forgotten", metadata: ["device": "\(request.device)"])
        }
    }

    /// Deletes the retained messages of a device that is forgotten, and answers the request.
    private func finish(_ request: Forgetting.Request) {
        let device = request.device
        if request.outcome == .forgotten || request.outcome == .unknown && request.deletesUnknown {
            schedule.cancel(device)
            for channel: Channel in [.state, .ack, .presence] { publish(channel, of: device, [], qos: .atLeastOnce) }
        }
        let answer = ForgetAnswer(
            id: request.id, collector: configuration.id, outcome: request.outcome,
            state: request.outcome == .online ? registry.state(of: device) : nil)
        do {
            let id = try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(device, .forgotten), payload: ForgetJSON.encode(answer),
                    qos: .atLeastOnce))
            if let id { handle(.queued(id: id)) }
        } catch {
            logger.error(
                "publishing failed", metadata: ["channel": "\(Channel.forgotten.name)", "error": "\(error)"])
        }
    }
}
