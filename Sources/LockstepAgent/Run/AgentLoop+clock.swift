import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSensors
import LockstepWire
import Logging

/// The comparison of the device's clock with those of the collectors.
extension AgentLoop {
    /// The interval at which the discipline of the wall clock is read, in µs.
    private static let disciplineInterval: Int64 = 5_000_000
    /// The longest random delay of the first request, in µs, so that not all devices ask at once after an outage.
    private static let maxDelay: Int64 = 1_000_000

    /// The device's time line minus the boot clock, in µs.
    private var lineOffset: Int64 { state.timeLine.timestamp(boot: 0).microseconds }

    /// Subscribes to the answers of the collectors.
    func subscribeToClock() {
        guard configuration.comparesClock else { return }
        do {
            clockSubscription = try link.subscribe(
                to: configuration.root.topic(configuration.address, .clockPong), qos: .atMostOnce)
            state.clock.didConnect(at: .now(), delay: .random(in: 0...Self.maxDelay))
        } catch {
            logger.error("cannot subscribe", metadata: ["error": "\(error)"])
        }
    }

    /// Handles a change of the link.
    /// - Returns: whether the event is only about the clock.
    func updateClock(_ event: BrokerLink.Event) -> Bool {
        switch event {
        case .disconnected: state.clock.didDisconnect()
        case .subscribed(let id, let isGranted) where id == clockSubscription:
            if !isGranted {
                // Everything else works without it.
                state.clock.didDisconnect()
                logger.warning(
                    "subscription refused by broker, clock not compared",
                    metadata: ["hint": "allow this user to read the topic clock/pong of the device"])
            }
            return true
        default: break
        }
        return false
    }

    /// Handles an answer. `reading` was taken when it was received.
    func receivePong(_ message: IncomingMessage, at reading: ClockReading) {
        // An unreadable answer is a lost one.
        guard !message.isRetained, message.payload.count <= 1024,
            let pong = try? ClockJSON.decodePong(Data(message.payload))
        else { return }
        state.clock.receive(pong, at: reading, lineOffset: lineOffset)
    }

    /// Follows the clocks, and queues a request if one is due. Call it right before the link is written.
    func exchangeTime() {
        guard configuration.comparesClock else { return }
        let reading = ClockReading.now()
        if reading.boot - disciplineReadAt >= Self.disciplineInterval {
            discipline = .now()
            disciplineReadAt = reading.boot
        }
        state.clock.observe(reading, lineOffset: lineOffset, discipline: discipline)
        if state.clock.hasPoints {
            let points = state.clock.takePoints()
            if state.presence.clock.update(points, newest: state.clock.newest, discipline: discipline) {
                state.presence.isChanged = true
            }
        }
        guard let ping = state.clock.nextPing(at: reading) else { return }
        do {
            try link.publish(
                MQTTMessage(
                    topic: configuration.root.topic(configuration.address, .clockPing), payload: ClockJSON.encode(ping),
                    qos: .atMostOnce))
        } catch {
            logger.error("cannot publish clock request", metadata: ["error": "\(error)"])
        }
    }
}
