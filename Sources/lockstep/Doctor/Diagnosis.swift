import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// Derives findings from observations, as a pure function of the observations and the time.
struct Diagnosis {
    /// The age of a collector's health report above which it is outdated, in µs. Collectors send a report every 10 s.
    private static let maxHealthAge: Int64 = 120_000_000
    /// The difference between two clocks above which it is reported, in µs.
    static let maxClockDifference: Int64 = 60_000_000
    /// The free space below which a disk is nearly full, in bytes.
    private static let minFreeSpace: Int64 = 1 << 30

    let observations: Observations
    let now: Timestamp

    var findings: [Finding] {
        guard observations.version != nil else { return [unreachable] }
        return [broker, retention, losses].compactMap(\.self) + addresses
            + CertificateDiagnosis(now: now).findings("broker", observations.certificates)
            + AccessDiagnosis(observations: observations).findings + collectors + gateways + devices
            + unreadable + observations.servers.flatMap(\.findings) + disk
    }

    private var collectors: [Finding] {
        guard !observations.collectors.isEmpty else { return [noCollector] }
        let own = observations.collectors.sorted { $0.key < $1.key }.flatMap { findings(of: $0.value, named: $0.key) }
        return own + sharedIDs + [unusedStore].compactMap(\.self)
    }

    private func findings(of health: CollectorHealth, named name: String) -> [Finding] {
        var findings = [state(of: health, named: name), version(of: health, named: name), clock(ofCollector: name)]
            .compactMap(\.self)
        let certificates = health.status == .offline ? [:] : others(health.certificates)
        findings += CertificateDiagnosis(now: now).findings("collector \(name)", certificates)
        if health.status != .offline, let space = health.space {
            findings += SpaceDiagnosis(name: name, space: space, now: now).findings
        }
        return findings
    }

    /// The certificates of another program, without the broker's, which this program has seen itself.
    private func others(_ times: CertificateTimes?) -> CertificateTimes {
        (times ?? [:]).filter {
            $0.key != CertificateWatch.Use.broker.rawValue || observations.certificates[$0.key] == nil
        }
    }

    /// A collector whose clock differs from this machine's by more than a minute.
    private func clock(ofCollector name: String) -> Finding? {
        guard let offset = observations.collectorClocks[name], abs(offset) > Self.maxClockDifference else { return nil }
        return Finding(
            .warning, "collector \(name)",
            "its clock is \(fixed(Double(abs(offset)) / 1e6, 0)) s \(offset > 0 ? "ahead of" : "behind") the clock of this "
                + "machine",
            "synchronise both clocks with NTP: chronyc tracking, or timedatectl")
    }

    private func version(of health: CollectorHealth, named name: String) -> Finding? {
        guard health.status != .offline, health.version != lockstepVersion else { return nil }
        // The last will of a stalled collector has no version.
        if health.status == .stalled, health.version == nil { return nil }
        let version = health.version.map { "version \($0.printable)" } ?? "unknown version"
        return Finding(
            .warning, "collector \(name)", "\(version), but this program has version \(lockstepVersion)",
            "install the same version of all programs: different versions may be incompatible")
    }

    private func state(of health: CollectorHealth, named name: String) -> Finding {
        let subject = "collector \(name)"
        let age = health.at.age(at: now)
        switch health.status {
        case .offline where hasSuccessor(name):
            return Finding(
                .warning, subject, "offline for \(age), but another collector is online in its group",
                "nothing, if the other has taken over as a member of its cluster; else start it again")
        case .offline:
            return Finding(
                .failure, subject, "offline for \(age)",
                "start it again; agents keep their samples until then. If it is gone for good: lockstep forget "
                    + "--collector \(name)")
        case .stalled where now - health.at > Self.maxHealthAge:
            // While it is stalled, a collector has no connection, so it repeats no report.
            return Finding(
                .failure, subject,
                "reported \(age) ago that it stores no data: \((health.problem ?? "unknown reason").printable)",
                "if it still runs, free disk space or repair the store: it then continues automatically. If it was "
                    + "killed, start it again. If it is gone for good: lockstep forget --collector \(name)")
        case .stalled:
            return Finding(
                .failure, subject, "stores no data: \((health.problem ?? "unknown reason").printable)",
                "free disk space or repair the store; the collector then continues automatically")
        case .online where now - health.at > Self.maxHealthAge:
            return Finding(
                .warning, subject, "online, but the last report is \(age) old",
                "check that the collector is running and that its clock is correct")
        case .online:
            return Finding(
                health.rejected > 0 ? .warning : .ok, subject,
                "online; \(counted(health.devices, "device")), \(counted(health.stored, "sample")) stored, "
                    + "\(counted(health.duplicates, "duplicate")), \(counted(health.conflicts, "conflict")), "
                    + "\(health.rejected) rejected"
                    + ((health.dropped ?? 0) > 0 ? ", \(health.dropped ?? 0) dropped by agents" : ""),
                health.rejected > 0 ? "show the reasons: \(rejectedQuery)" : nil)
        }
    }

    /// The command that shows the rejected messages.
    private var rejectedQuery: String {
        switch observations.store {
        case .sqlite(let path):
            "sqlite3 -readonly \(quoted(path)) 'SELECT topic, reason FROM rejected ORDER BY id DESC LIMIT 20'"
        case .clickHouse(let address):
            "clickhouse-client --host \(address.servers.first?.host ?? "localhost") --database \(address.database) "
                + "--query 'SELECT topic, reason FROM rejected ORDER BY at DESC LIMIT 20'"
        case nil: "journalctl -u 'lockstep-collector*' | grep 'message rejected'"
        }
    }

    /// Returns a path as one word of a shell command.
    private func quoted(_ path: String) -> String {
        let isPlain = path.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || "0123456789/._-".unicodeScalars.contains($0)
        }
        return isPlain
            ? path : "'" + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// Returns whether another collector of the group is online, for the same partition if the name ends with one.
    private func hasSuccessor(_ name: String) -> Bool {
        func place(_ name: String) -> [Substring] {
            let parts = name.split(separator: "/")
            let levels = parts.last?.split(separator: ".") ?? []
            let partition = levels.count > 1 ? levels.last.flatMap { Int($0) } : nil
            return [parts.first ?? "", partition.map { "\($0)" } ?? ""]
        }
        return observations.collectors.contains { other, health in
            health.status == .online && now - health.at <= Self.maxHealthAge && place(other) == place(name)
        }
    }

    private var gateways: [Finding] {
        observations.gateways.sorted { $0.key < $1.key }.flatMap { name, health in
            [GatewayDiagnosis(name: name, health: health, maxAge: Self.maxHealthAge, now: now).finding]
                + CertificateDiagnosis(now: now).findings(
                    "gateway \(name)", health.status == .offline ? [:] : others(health.certificates))
        }
    }

    private var devices: [Finding] {
        guard !observations.devices.isEmpty else { return [noDevice] }
        return observations.devices.sorted { $0.key < $1.key }.flatMap { address, device in
            let found = DeviceDiagnosis(
                address: address, device: device, seconds: observations.seconds, now: now, rejectedQuery: rejectedQuery,
                doubts: observations.doubts()
            ).findings
            return found.map { finding in
                var finding = finding
                finding.subject = "device \(address)"
                return finding
            }
        }
    }

    private var disk: [Finding] {
        guard let (free, size) = observations.disk else { return [] }
        let text = "\(free >> 20) of \(size >> 20) MB free on the disk of the store"
        return free < Self.minFreeSpace
            ? [Finding(.warning, "disk", text, "free disk space; on a full disk the collector stores no data")]
            : [Finding(.ok, "disk", text)]
    }
}
