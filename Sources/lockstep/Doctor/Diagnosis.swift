import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire

/// Derives findings from observations, as a pure function of the observations and the time.
struct Diagnosis {
    /// The age of a collector's health report above which it is outdated, in µs. Collectors send a report every 10 s.
    private static let maxHealthAge: Int64 = 120_000_000
    /// The difference between two clocks above which it is reported, in µs.
    static let maxClockDifference: Int64 = 60_000_000
    /// The free space below which a disk is nearly full, in bytes.
    private static let minFreeSpace: Int64 = 1 << 30
    /// The number of messages in flight below which the broker makes commits of collectors small. Mosquitto's default is 20.
    private static let minInFlight = 100

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
        case .sqlite(let path): "lockstep query rejected --store \(quoted("sqlite:" + path)) --from -1h"
        case .clickHouse(let address):
            "clickhouse-client --host \(address.servers.first?.host ?? "localhost") --database \(address.database) "
                + "--query 'SELECT topic, reason FROM rejected ORDER BY at DESC LIMIT 20'"
        case nil: "journalctl -u 'lockstep-collector*' | grep 'message rejected'"
        }
    }

    /// Returns a text as one word of a shell command.
    private func quoted(_ text: String) -> String {
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || "0123456789/._-:".unicodeScalars.contains($0)
        }
        return isPlain
            ? text : "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
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
        var text = "\(observations.broker) supports MQTT \(version)\(software)"
        if let limit = observations.maxInFlight, limit < Self.minInFlight {
            text +=
                "; each client may have \(limit) messages in flight, so a collector stores few at a time: in Mosquitto, set "
                + "max_inflight_messages 5000"
        }
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

extension Diagnosis {
    /// Two collectors with one id disconnect each other, and each of their stores lacks a part of the samples.
    var sharedIDs: [Finding] {
        observations.collectorStores.filter { $0.value.count > 1 }.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            Finding(
                .failure, "collector \($0)",
                "two collectors use this id with different stores: " + $1.map(Self.place).joined(separator: " and "),
                "stop one of them, or give it its own --id; each store lacks the batches that the other one has received"
            )
        }
    }

    /// The store that was given on the command line, if the collectors that are running write to other ones.
    var unusedStore: Finding? {
        guard let location = observations.storeLocation else { return nil }
        let used = observations.collectors.filter { $0.value.status != .offline }.sorted { $0.key < $1.key }
        // A collector that does not name its store may write to this one.
        guard !used.isEmpty, used.allSatisfy({ $0.value.store.map { !isSame($0, location) } ?? false }) else {
            return nil
        }
        let others = used.compactMap { name, health in health.store.map { "\(name) writes to \(Self.place($0))" } }
        return Finding(
            .warning, "store",
            "no running collector writes to \(location.name.printable): \(others.joined(separator: ", "))",
            "if this is the store of your collector, look for 'another collector' in its log: another one with the same "
                + "--id may have replaced it; a copy of a store, or a store on another machine, is not expected to be used"
        )
    }

    /// Whether a store is probably the one at a location. Its id may change when its file system is mounted again.
    private func isSame(_ store: CollectorHealth.Store, _ location: StoreLocation) -> Bool {
        store.id == location.id || store.name == location.name && store.host == location.host
    }

    private static func place(_ store: CollectorHealth.Store) -> String {
        "\(store.name.printable) on \(store.host.printable)"
    }
}

/// What was not received, and what this program cannot read.
extension Diagnosis {
    /// The finding if no collector has reported.
    var noCollector: Finding {
        let doubts = observations.doubts(publishedWithin: Observations.reportTimes.collector)
        guard doubts.isEmpty else {
            return observations.devices.values.contains { $0.isAcknowledged && $0.state == nil }
                ? .unknown("collector", "one acknowledges samples, but its report was not received", doubts)
                : .unknown(
                    "collector", "whether a collector is running is unknown, because no report was received", doubts)
        }
        return Finding(
            .failure, "collector",
            observations.hasRetained || observations.isRetainAvailable
                ? "no collector has connected to this broker yet" : "no collector is running",
            "start one: lockstep-collector --broker \(observations.broker) --store sqlite:samples.db")
    }

    /// The finding if nothing was received of any device.
    var noDevice: Finding {
        var doubts = observations.doubts(publishedWithin: Observations.reportTimes.agent)
        // The user of a collector's report may still have no right to read what devices publish.
        let known = observations.collectors.values.map(\.devices).max() ?? 0
        if known > 0, observations.canRead, observations.canWriteAsDevice != true, !doubts.contains(.rights) {
            doubts.insert(.rights, at: 0)
        }
        guard doubts.isEmpty else {
            return .unknown(
                "devices",
                known > 0
                    ? "the collectors know \(counted(known, "device")), but nothing was received of one"
                    : "whether there are devices is unknown, because nothing was received of one", doubts)
        }
        return Finding(
            .warning, "devices", "no device has connected to this broker yet",
            "start an agent: lockstep-agent --broker \(observations.broker) --source …")
    }

    var unreadable: [Finding] {
        let undeclared = observations.undeclared.sorted()
        let findings =
            undeclared.isEmpty
            ? []
            : [
                Finding(
                    .unknown, "streams",
                    "the samples of \(counted(undeclared.count, "stream")) were not checked, because the settings of this "
                        + "program do not declare \(undeclared.count == 1 ? "it" : "them"): "
                        + undeclared.prefix(3).map(\.printable).joined(separator: ", ")
                        + (undeclared.count > 3 ? ", …" : ""),
                    "use the settings of the collector, which declares them: --config collector.yaml. Batches that it "
                        + "does not know either, it keeps in the table 'rejected'")
            ]
        guard let first = observations.unreadable.min(by: { $0.key < $1.key }) else { return findings }
        let others = observations.unreadable.count - 1
        return findings + [
            Finding(
                .warning, "messages",
                "invalid message on '\(first.key.printable)': \(first.value.printable)"
                    + (others > 0 ? "; invalid messages on " + counted(others, "more topic") : ""),
                first.key.contains("/" + SensorStream.declaredPrefix)
                    ? "compare the declarations of the stream in the settings of this program, of the agent and of the "
                        + "collector, which keeps messages that it cannot read in the table 'rejected'"
                    : "find its sender; collectors keep such messages in the table 'rejected'")
        ]
    }
}
