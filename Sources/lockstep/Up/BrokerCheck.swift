import LockstepCommandLine
import LockstepMQTT
import LockstepModel

/// Whether the program that listens on a port is a broker that accepts the programs of this machine.
enum BrokerCheck {
    /// Connects once.
    /// - Throws: ``CommandFailure`` if it is no broker, or accepts only clients that it knows.
    static func run(_ url: String, within limit: Duration = .seconds(10)) throws {
        let address = try BrokerAddress(url)
        let link = BrokerAccess(address).link(clientID: MQTTOptions.clientID("up", "check"), wakeup: Wakeup())
        let deadline = ContinuousClock.now + limit
        var reason = "no answer"
        var failures = 0
        // The second attempt may use another version of MQTT.
        while failures < 2, ContinuousClock.now < deadline {
            link.wait(until: deadline)
            for event in link.read(limit: 1000) + link.write() {
                switch event {
                case .connected:
                    link.stop(until: .now + .seconds(1))
                    return
                case .failed(let error, _), .disconnected(let error, _):
                    if [.badCredentials, .notAuthorized].contains(error.code) {
                        throw CommandFailure(
                            "the broker at \(address) does not accept programs without a user: give a user and its "
                                + "password file in collector.yaml, serve.yaml and gateway.yaml, and name the broker "
                                + "with --broker")
                    }
                    reason = "\(error)"
                    failures += 1
                case .published, .subscribed: break
                }
            }
        }
        throw CommandFailure(
            "the program that listens at \(address) is no MQTT broker (\(reason)): stop it, or use --port")
    }
}
