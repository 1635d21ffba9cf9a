import LockstepCommandLine
import LockstepModel
import LockstepWire

/// The finding about one gateway.
struct GatewayDiagnosis {
    let name: String
    let health: GatewayHealth
    /// The age of a health report above which it is outdated, in µs. Gateways send a report every 10 s.
    let maxAge: Int64
    let now: Timestamp

    var finding: Finding {
        let subject = "gateway \(name)"
        let age = health.at.age(at: now)
        switch health.status {
        case .offline:
            return Finding(
                .failure, subject, "offline for \(age)",
                "start it again; the broker and the apps keep messages until then. If it is gone for good: lockstep "
                    + "forget --gateway \(name)")
        case .stalled:
            return Finding(
                .failure, subject, "accepts no messages: \((health.problem ?? "unknown reason").printable)",
                "free disk space or repair the outbox; the gateway then continues automatically")
        case .online where now - health.at > maxAge:
            return Finding(
                .warning, subject, "online, but the last report is \(age) old",
                "check that the gateway is running and that its clock is correct")
        case .online where health.version != lockstepVersion:
            return Finding(
                .warning, subject,
                "\(health.version.map { "version \($0.printable)" } ?? "unknown version"), but this program has version "
                    + lockstepVersion,
                "install the same version of all programs: different versions may be incompatible")
        case .online:
            let text =
                "online; \(counted(health.devices, "device")), \(counted(health.accepted, "message")) accepted, "
                + "\(health.refused) refused, "
                + (health.leftOut.map { $0 > 0 ? "\(counted($0, "part")) left out, " : "" } ?? "")
                + (health.refusedLogins.map { $0 > 0 ? "\(counted($0, "login")) refused, " : "" } ?? "")
                + "\(health.outboxBytes >> 10) KB in its outbox"
            if health.dropped > 0 {
                return Finding(
                    .warning, subject, text + ", \(counted(health.dropped, "sample")) dropped",
                    "start a collector, or raise --outbox-size of the gateway")
            }
            return Finding(
                health.refused > 0 ? .warning : .ok, subject, text,
                health.refused > 0 ? "show the reasons: journalctl -u lockstep-gateway | grep refused" : nil)
        }
    }
}
