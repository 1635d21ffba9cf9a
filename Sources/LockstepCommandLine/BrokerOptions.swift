public import LockstepMQTT

/// The settings of the connection to the broker, shared by all programs.
public struct BrokerSettings: SettingGroup {
    let broker = Setting(
        "broker",
        """
        Broker address: mqtt[s]://[user@]host[:port] (default: mqtt://localhost:1883). For a cluster, the addresses of \
        its nodes, separated by commas: when a connection fails, the next one is used.
        """
    ) { try BrokerAddress($0) }
    let mqtt = Setting("mqtt", "MQTT version: auto, 5 or 3.1.1 (default: auto).", mqttVersion)
    let keepAlive = Setting(
        "keep-alive",
        """
        MQTT keep-alive interval (default: 15s). The client detects a dead connection within twice this time, the \
        broker within 1.5 times this time.
        """, keepAliveSeconds)
    let user = Setting(
        "user", "User name. Set the password with --password-file or the environment variable LOCKSTEP_PASSWORD.")
    let passwordFile = Setting.file(
        "password-file", "File with the password on its first line, readable only by its owner.",
        SecretFile.password(in:))
    let password = Setting.secret("password")
    let clientIDFile = Setting.file(
        "client-id-file",
        """
        File with a secret on its first line, readable only by its owner, that is appended to MQTT client ids. Without \
        it, any user of the broker can guess them, and end or take over the connections.
        """, clientIDSecret(in:))
    let authorityFile = Setting.file(
        "ca-file", "PEM file with the trusted CA certificates (default: those of the operating system).")
    let certificateFile = Setting.file("cert-file", "PEM file with the client certificate.")
    let keyFile = Setting.file(
        "key-file", "PEM file with the private key of the client certificate, readable only by its owner.",
        SecretFile.check)

    public init() {}
}

/// The options for the connection to the broker.
public typealias BrokerOptions = Options<BrokerSettings>

extension Options<BrokerSettings> {
    /// Returns the broker, and how to connect to it.
    /// - Throws: ``CommandFailure`` for an invalid setting.
    public func access(_ settings: Settings) throws -> BrokerAccess {
        var access = BrokerAccess(try address(settings))
        access.tls = try tls(settings)
        access.version = try version(settings)
        try settings.assign(self.keepAlive, to: &access.keepAlive)
        return access
    }

    /// Returns the address of the broker with the user's credentials.
    /// - Throws: ``CommandFailure`` for an invalid setting. Its text never contains the password.
    public func address(_ settings: Settings) throws -> BrokerAddress {
        var address = try settings.value(self.broker) ?? BrokerAddress(host: "localhost", port: 1883)
        if address.nodes.contains(where: { $0.password != nil }) { try checkSecrecy(self.broker, settings) }
        if let user = try settings.value(self.user) { address.changeNodes { $0.user = user } }
        if let password = try password(settings) { address.changeNodes { $0.password = password } }
        if let secret = try settings.value(self.clientIDFile) { address.changeNodes { $0.clientIDSecret = secret } }
        guard address.nodes.allSatisfy({ $0.password == nil || $0.user != nil }) else {
            throw CommandFailure("a password requires a user name: add --user")
        }
        return address
    }

    /// Returns the MQTT version to use, or nil for automatic selection.
    /// - Throws: ``CommandFailure`` for an unknown version.
    public func version(_ settings: Settings) throws -> MQTTVersion? {
        try settings.value(self.mqtt) ?? nil
    }

    /// Returns the keep-alive interval in s, or nil for the default.
    /// - Throws: ``CommandFailure`` for an interval outside 5 s to 65,535 s.
    public func keepAlive(_ settings: Settings) throws -> Int? {
        try settings.value(self.keepAlive)
    }

    /// Returns the TLS files.
    /// - Throws: ``CommandFailure`` for an incomplete set, for files without `mqtts://`, or for a key that other users
    ///   can read.
    public func tls(_ settings: Settings) throws -> TLSOptions {
        let options = TLSOptions(
            authorityFile: try settings.value(self.authorityFile),
            certificateFile: try settings.value(self.certificateFile),
            keyFile: try settings.value(self.keyFile))
        guard (options.certificateFile == nil) == (options.keyFile == nil) else {
            throw CommandFailure("--cert-file and --key-file must be used together")
        }
        // If the files were ignored, the user would believe that the connection is encrypted.
        guard try options == TLSOptions() || (settings.value(self.broker)?.usesTLS ?? false) else {
            // A variable of an earlier session overrides the file that 'lockstep certs' has made.
            let place =
                settings.place(of: self.broker) == .environment
                ? "LOCKSTEP_BROKER, which overrides a settings file" : "--broker"
            throw CommandFailure("--ca-file, --cert-file and --key-file require TLS: use mqtts:// in \(place)")
        }
        return options
    }

    private func password(_ settings: Settings) throws -> String? {
        let fromFile = try settings.value(self.passwordFile)
        let direct = try settings.value(self.password)
        guard fromFile == nil || direct == nil else {
            throw CommandFailure("the password is set twice: use either password-file or LOCKSTEP_PASSWORD")
        }
        if direct != nil { try checkSecrecy(self.password, settings) }
        return fromFile ?? direct
    }

    /// Throws if other users can read the password where it is set.
    private func checkSecrecy<Value>(_ setting: Setting<Value>, _ settings: Settings) throws {
        switch settings.place(of: setting) {
        case .commandLine:
            throw CommandFailure(
                "--\(setting.name): every user of this machine can read a password on the command line: use --user together "
                    + "with --password-file or LOCKSTEP_PASSWORD")
        case .file(let path): try SecretFile.check(path)
        case .environment, nil: break
        }
    }
}

/// Parses an MQTT version; nil for automatic selection.
private func mqttVersion(_ text: String) throws -> MQTTVersion? {
    if text == "auto" { return nil }
    guard let version = MQTTVersion(rawValue: text) else {
        throw CommandFailure("'\(text)' is not an MQTT version: use auto, 5 or 3.1.1")
    }
    return version
}

/// Parses a keep-alive interval.
private func keepAliveSeconds(_ text: String) throws -> Int {
    let seconds = try parseDuration(text) / 1_000_000
    // The lower limit is that of libmosquitto, the upper one that of MQTT.
    guard (5...65_535).contains(seconds) else {
        throw CommandFailure("'\(text)' is not a keep-alive interval: use 5s to 65535s")
    }
    return Int(seconds)
}

/// Returns the secret in a file. It has only characters that every broker accepts in client ids.
private func clientIDSecret(in path: String) throws -> String {
    let secret = try SecretFile.password(in: path)
    guard (16...64).contains(secret.utf8.count),
        secret.utf8.allSatisfy({
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
        })
    else {
        throw CommandFailure(
            "the first line of \(path) must be 16 to 64 of the characters a-z and 0-9: create it with "
                + "(umask 077; openssl rand -hex 16 >\(path))")
    }
    return secret
}
