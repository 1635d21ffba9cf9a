public import ArgumentParser
public import LockstepMQTT

/// The options for the connection to the broker, shared by all programs.
public struct BrokerOptions: ParsableArguments {
    /// The names of the settings behind these options.
    ///
    /// The password has no option, because every user of a machine can read the command lines of its processes.
    public static let names = [
        "broker", "mqtt", "keep-alive", "user", "password-file", "password", "ca-file", "cert-file", "key-file",
    ]

    @Option(help: "Broker address: mqtt[s]://[user@]host[:port] (default: mqtt://localhost:1883).")
    public var broker: String?

    @Option(help: "MQTT version: auto, 5 or 3.1.1 (default: auto).")
    public var mqtt: String?

    @Option(
        help: """
            MQTT keep-alive interval. A dead connection is detected within twice this time by the client and within \
            1.5 times by the broker (default: 15s).
            """)
    public var keepAlive: String?

    @Option(help: "User name. Set the password with --password-file or the environment variable LOCKSTEP_PASSWORD.")
    public var user: String?

    @Option(help: "File with the password on its first line, readable only by its owner.")
    public var passwordFile: String?

    @Option(name: .customLong("ca-file"), help: "PEM file with the trusted CA certificates (default: the system's).")
    public var authorityFile: String?

    @Option(name: .customLong("cert-file"), help: "PEM file with the client certificate.")
    public var certificateFile: String?

    @Option(
        name: .customLong("key-file"),
        help: "PEM file with the private key of the client certificate, readable only by its owner.")
    public var keyFile: String?

    public init() {}

    /// Returns the address of the broker with the user's credentials.
    /// - Throws: ``CommandFailure`` for an invalid setting. Its text never contains the password.
    public func address(_ settings: Settings) throws -> BrokerAddress {
        var address =
            try settings.value("broker", broker) { try BrokerAddress($0) }
            ?? BrokerAddress(host: "localhost", port: 1883)
        if address.password != nil { try checkSecrecy("broker", broker, settings) }
        if let user = try settings.value("user", user, parse: { $0 }) { address.user = user }
        if let password = try password(settings) { address.password = password }
        guard address.password == nil || address.user != nil else {
            throw CommandFailure("a password without a user name: add --user")
        }
        return address
    }

    /// Returns the MQTT version to use, or nil for automatic selection.
    /// - Throws: ``CommandFailure`` for an unknown version.
    public func version(_ settings: Settings) throws -> MQTTVersion? {
        try settings.value("mqtt", mqtt) { text in
            if text == "auto" { return nil }
            guard let version = MQTTVersion(rawValue: text) else {
                throw CommandFailure("'\(text)' is not an MQTT version: use auto, 5 or 3.1.1")
            }
            return version
        } ?? nil
    }

    /// Returns the keep-alive interval in s, or nil for the default.
    /// - Throws: ``CommandFailure`` for an interval outside 5 s to 65,535 s.
    public func keepAlive(_ settings: Settings) throws -> Int? {
        try settings.value("keep-alive", keepAlive) { text in
            let seconds = try span(text) / 1_000_000
            // libmosquitto sets the lower limit, MQTT the upper one.
            guard (5...65_535).contains(seconds) else { throw CommandFailure("'\(text)' is not from 5s to 65535s") }
            return Int(seconds)
        }
    }

    /// Returns the TLS files.
    /// - Throws: ``CommandFailure`` for an incomplete set, for files without `mqtts://`, or for a key that other users
    ///   can read.
    public func tls(_ settings: Settings) throws -> TLSOptions {
        let options = TLSOptions(
            authorityFile: try settings.value("ca-file", authorityFile) { $0 },
            certificateFile: try settings.value("cert-file", certificateFile) { $0 },
            keyFile: try settings.value("key-file", keyFile) { try SecretFile.check($0) })
        guard (options.certificateFile == nil) == (options.keyFile == nil) else {
            throw CommandFailure("--cert-file and --key-file must be used together")
        }
        // Ignoring the files would suggest a protection that mqtt:// does not have.
        guard try options == TLSOptions() || address(settings).usesTLS else {
            throw CommandFailure("--ca-file, --cert-file and --key-file require TLS: use mqtts:// in --broker")
        }
        return options
    }

    private func password(_ settings: Settings) throws -> String? {
        let inFile = try settings.value("password-file", passwordFile, parse: SecretFile.password(in:))
        let given = try settings.value("password", nil) { $0 }
        guard inFile == nil || given == nil else {
            throw CommandFailure("two passwords: use either password-file or LOCKSTEP_PASSWORD")
        }
        if given != nil { try checkSecrecy("password", nil, settings) }
        return inFile ?? given
    }

    /// Throws if other users can read the password at the place where it was set.
    private func checkSecrecy(_ name: String, _ commandLine: String?, _ settings: Settings) throws {
        switch settings.place(of: name, commandLine) {
        case .commandLine:
            throw CommandFailure(
                "--\(name): every user of this machine can read a password on the command line: use --user together "
                    + "with --password-file or LOCKSTEP_PASSWORD")
        case .file(let path): try SecretFile.check(path)
        case .environment, nil: break
        }
    }
}
