import LockstepMQTT

/// What is to be said of what the broker lets this user do.
struct AccessDiagnosis {
    let observations: Observations

    var findings: [Finding] { [reading, writing].compactMap(\.self) }

    private var reading: Finding? {
        guard !observations.mayRead else { return nil }
        return Finding(
            .failure, "access", "the broker does not let this user read all of its topics",
            "what follows is incomplete; use the settings of a reader or an operator: --config reader.yaml")
    }

    private var writing: Finding? {
        guard observations.wroteAsDevice else {
            return observations.mayRead
                ? Finding(.ok, "access", "this user can't pass itself off as a device") : nil
        }
        let text = "this user may write as any device"
        return Self.isLoopback(observations.broker.host)
            ? Finding(.ok, "access", text + ": well enough while the broker is for this machine alone")
            : Finding(
                .warning, "access", text + ", and what it writes would be stored",
                "let the broker ask who writes: deploy/certs, and 'A broker for real' in the README")
    }

    private static func isLoopback(_ host: String) -> Bool {
        ["localhost", "::1", "[::1]"].contains(host) || host.hasPrefix("127.")
    }
}
