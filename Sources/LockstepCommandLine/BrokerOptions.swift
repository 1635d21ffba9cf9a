public import ArgumentParser
public import LockstepMQTT
import LockstepModel

/// The options with which every program reaches its broker.
public struct BrokerOptions: ParsableArguments {
    /// The settings behind these options.
    public static let names = ["broker", "mqtt", "ca-file", "cert-file", "key-file"]

    @Option(help: "mqtt[s]://[user[:password]@]host[:port] (default: mqtt://localhost:1883)")
    public var broker: String?

    @Option(help: "The version of MQTT: auto, 5 or 3.1.1 (default: auto).")
    public var mqtt: String?

    @Option(name: .customLong("ca-file"), help: "PEM file of the authorities to trust (default: the system's).")
    public var authorityFile: String?

    @Option(name: .customLong("cert-file"), help: "PEM file of this program's certificate.")
    public var certificateFile: String?

    @Option(name: .customLong("key-file"), help: "PEM file of the certificate's key.")
    public var keyFile: String?

    public init() {}

    public func address(_ settings: Settings) throws -> BrokerAddress {
        try settings.value("broker", broker) { try BrokerAddress($0) } ?? BrokerAddress(host: "localhost", port: 1883)
    }

    public func version(_ settings: Settings) throws -> MQTTVersion? {
        try settings.value("mqtt", mqtt) { text in
            if text == "auto" { return nil }
            guard let version = MQTTVersion(rawValue: text) else {
                throw CommandFailure("'\(text)' is no version of MQTT: write auto, 5 or 3.1.1")
            }
            return version
        } ?? nil
    }

    public func tls(_ settings: Settings) throws -> TLSOptions {
        TLSOptions(
            authorityFile: try settings.value("ca-file", authorityFile) { $0 },
            certificateFile: try settings.value("cert-file", certificateFile) { $0 },
            keyFile: try settings.value("key-file", keyFile) { $0 })
    }
}
