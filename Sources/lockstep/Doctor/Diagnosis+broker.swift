import LockstepMQTT

/// The findings about the broker and the connection to it.
extension Diagnosis {
    var unreachable: Finding {
        let reason = observations.failure.map { "\($0)" } ?? "no answer"
        return Finding(
            .failure, "broker", "\(observations.broker): \(reason)",
            connectionAdvice + "; for connection options see 'lockstep doctor --help'")
    }

    /// What to do if the broker cannot be reached, depending on the reason.
    private var connectionAdvice: String {
        switch observations.failure?.code {
        case .badCredentials, .notAuthorized:
            observations.userIsOfCertificate
                ? "the broker may take the user from the certificate of --cert-file: give this user access at the broker, "
                    + "use another certificate, or set a user with --user"
                : "set the user with --user, and its password with --password-file or LOCKSTEP_PASSWORD"
        case .tls, .invalid: "correct --broker or the files of --ca-file, --cert-file and --key-file"
        case .unsupportedVersion: "set another version with --mqtt"
        case .refused, .tooLarge, .takenOver: "check host and port in --broker, and the log of the broker"
        case .unknownHost: "correct the host in --broker; 'getent hosts NAME' shows whether this machine knows a name"
        case .handshakeAborted:
            "something answers at this address: read the log of the broker, and check that --broker has its port for TLS "
                + "and that --cert-file has a certificate if the broker requires one"
        case .connectionLost:
            "the broker was reached: read its log, and check that --broker has its port for MQTT, with mqtts:// if this "
                + "port requires TLS"
        case .unreachable, .other, nil:
            "check that the broker is running and that no firewall blocks its port"
        }
    }

    var broker: Finding {
        let version = observations.version?.rawValue ?? "?"
        let software = observations.software.map { ", \($0)" } ?? ""
        let text = "\(observations.broker) supports MQTT \(version)\(software)"
        if version == "5" { return Finding(.ok, "broker", text) }
        // With a chosen version, nobody has asked whether the broker supports another one.
        return Finding(
            .warning, "broker", text,
            observations.isVersionChosen
                ? "remove --mqtt to try MQTT 5: only MQTT 5 reports the reason for a refusal"
                : "use a broker with MQTT 5: only MQTT 5 reports the reason for a refusal")
    }

    /// A broker without retained messages: with MQTT 5, it has to refuse connections with a retained last will.
    var retention: Finding? {
        guard !observations.isRetainAvailable else { return nil }
        return Finding(
            .failure, "broker",
            "it keeps no retained messages, so agents, collectors and gateways cannot connect to it",
            "allow retained messages in the broker: in Mosquitto, remove 'retain_available false'")
    }

    /// The losses of the connection during the observation.
    var losses: Finding? {
        guard observations.losses > 0 else { return nil }
        return Finding(
            .warning, "broker",
            "the connection was lost during the check: \(observations.failure.map { "\($0)" } ?? "unknown reason")",
            "read the log of the broker: some brokers close the connection of a user without the rights of a reader")
    }

    /// The addresses of the broker's name that do not answer.
    var addresses: [Finding] {
        observations.unansweredAddresses.map { address in
            Finding(
                .warning, "broker", "\(observations.broker): the address \(address) does not answer, another one does",
                "each program loses a fraction of a second when it connects first: correct the addresses of this name, or "
                    + "the IPv6 of this network")
        }
    }
}
