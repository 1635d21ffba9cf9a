public import ArgumentParser
public import LockstepMQTT

/// The options with which every program reaches its broker.
public struct BrokerOptions: ParsableArguments {
    /// The settings behind these options. The password itself is no option: everybody on a machine can read the
    /// arguments of its programs.
    public static let names = [
        "broker", "mqtt", "keep-alive", "user", "password-file", "password", "ca-file", "cert-file", "key-file",
    ]

    @Option(help: "mqtt[s]://[user@]host[:port] (default: mqtt://localhost:1883)")
    public var broker: String?

    @Option(help: "The version of MQTT: auto, 5 or 3.1.1 (default: auto).")
    public var mqtt: String?

    @Option(
        help: """
            Silence on the connection after which the broker is asked whether it is still there; a dead one is noticed \
            within twice this time, and by the broker within one and a half times (default: 15s).
            """)
    public var keepAlive: String?

    @Option(help: "User name at the broker. The password: --password-file, or LOCKSTEP_PASSWORD in the environment.")
    public var user: String?

    @Option(help: "File with the password in its first line, readable by its owner alone.")
    public var passwordFile: String?

    @Option(name: .customLong("ca-file"), help: "PEM file of the authorities to trust (default: the system's).")
    public var authorityFile: String?

    @Option(name: .customLong("cert-file"), help: "PEM file of this program's certificate.")
    public var certificateFile: String?

    @Option(name: .customLong("key-file"), help: "PEM file of the certificate's key, readable by its owner alone.")
    public var keyFile: String?

    public init() {}

    /// Where the broker is and who asks.
    /// - Throws: ``CommandFailure``, never with the password in it.
    public func address(_ settings: Settings) throws -> BrokerAddress {
        var address =
            try settings.value("broker", broker) { try BrokerAddress($0) }
            ?? BrokerAddress(host: "localhost", port: 1883)
        if address.password != nil { try checkSecrecy("broker", broker, settings) }
        if let user = try settings.value("user", user, parse: { $0 }) { address.user = user }
        if let password = try password(settings) { address.password = password }
        guard address.password == nil || address.user != nil else {
            throw CommandFailure("a password without a user: give --user")
        }
        return address
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

    /// Seconds of silence after which the broker is asked; nil for the default.
    /// - Throws: ``CommandFailure``
    public func keepAlive(_ settings: Settings) throws -> Int? {
        try settings.value("keep-alive", keepAlive) { text in
            let seconds = try span(text) / 1_000_000
            // libmosquitto takes no less, MQTT no more.
            guard (5...65_535).contains(seconds) else { throw CommandFailure("'\(text)' is not from 5s to 65535s") }
            return Int(seconds)
        }
    }

    /// The files for TLS.
    /// - Throws: ``CommandFailure`` where they can't do what they are given for, or others may read the key.
    public func tls(_ settings: Settings) throws -> TLSOptions {
        let options = TLSOptions(
            authorityFile: try settings.value("ca-file", authorityFile) { $0 },
            certificateFile: try settings.value("cert-file", certificateFile) { $0 },
            keyFile: try settings.value("key-file", keyFile) { try SecretFile.check($0) })
        guard (options.certificateFile == nil) == (options.keyFile == nil) else {
            throw CommandFailure("--cert-file and --key-file go together: a certificate is nothing without its key")
        }
        // Whoever gives them believes in a protection that mqtt:// does not have.
        guard try options == TLSOptions() || address(settings).usesTLS else {
            throw CommandFailure("--ca-file, --cert-file and --key-file are for TLS: write mqtts:// in --broker")
        }
        return options
    }

    private func password(_ settings: Settings) throws -> String? {
        let inFile = try settings.value("password-file", passwordFile, parse: SecretFile.password(in:))
        let given = try settings.value("password", nil) { $0 }
        guard inFile == nil || given == nil else {
            throw CommandFailure("two passwords: give either password-file or LOCKSTEP_PASSWORD")
        }
        if given != nil { try checkSecrecy("password", nil, settings) }
        return inFile ?? given
    }

    /// Refuses a password that others can read, where it stands.
    private func checkSecrecy(_ name: String, _ commandLine: String?, _ settings: Settings) throws {
        switch settings.place(of: name, commandLine) {
        case .commandLine:
            throw CommandFailure(
                "--\(name): everybody on this machine can read a password on the command line: give --user, and the "
                    + "password by --password-file or in LOCKSTEP_PASSWORD")
        case .file(let path): try SecretFile.check(path)
        case .environment, nil: break
        }
    }
}
