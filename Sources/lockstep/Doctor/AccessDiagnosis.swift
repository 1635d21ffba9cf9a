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
        guard observations.canWriteAsDevice else {
            return observations.canRead
                ? Finding(.ok, "access", "this user cannot publish as a device") : nil
        }
        let text = "this user can publish as any device"
        return Self.isLoopback(observations.broker.host)
            ? Finding(.ok, "access", text + ", which is acceptable for a broker on this machine only")
            : Finding(
                .warning, "access", text + ", and the collector would store it",
                "configure users and access rights in the broker: see docs/security.md and deploy/certs")
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.")
    }
}
