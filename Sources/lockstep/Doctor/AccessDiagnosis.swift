import LockstepMQTT

/// The findings about the access rights of this user.
struct AccessDiagnosis {
    let observations: Observations

    var findings: [Finding] { [readAccess, writeAccess].compactMap(\.self) }

    private var readAccess: Finding? {
        guard !observations.canRead else { return nil }
        return Finding(
            .failure, "access", "this user is not allowed to read all topics",
            "the other findings are incomplete; use the credentials of a reader or operator: --config reader.yaml")
    }

    private var writeAccess: Finding? {
        switch observations.canWriteAsDevice {
        case nil where !observations.canRead: return nil
        case nil where observations.version == .three && observations.hasOthersMessage, false?:
            // The message of the test would have come back.
            return Finding(.ok, "access", "this user cannot publish as a device")
        case nil:
            return Finding(
                .unknown, "access",
                "whether this user can publish as a device is unknown: "
                    + (observations.version == .three
                        ? "MQTT 3.1.1 does not report it to a user who cannot read as well"
                        : "the broker has not answered"),
                observations.version == .three
                    ? "use a broker with MQTT 5, or the credentials of a reader" : "try again with a longer --seconds")
        case true?:
            let text = "this user can publish as any device"
            return Self.isLoopback(observations.broker.host)
                ? Finding(.ok, "access", text + ", which is acceptable for a broker on this machine only")
                : Finding(
                    .warning, "access", text + ", and the collector would store it",
                    "configure users and access rights in the broker: see docs/security.md and 'lockstep certs'")
        }
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.")
    }
}
