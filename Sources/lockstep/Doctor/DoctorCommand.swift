import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepSystem
import LockstepWire

/// The store of the health check.
struct DoctorStoreSettings: SettingGroup {
    let store = Setting(
        "store",
        """
        Store that is checked with its free disk space, sqlite:PATH, or whose server is checked, \
        clickhouse://[user@]host[:port][,host…]/database (default: LOCKSTEP_STORE, if set).
        """
    ) { try StoreAddress($0) }
    let password = StorePasswordSettings()
}

struct DoctorCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check the health of a running system and suggest fixes.",
        discussion: """
            Subscribes to the broker for a few seconds and checks the broker, collectors and their versions, device \
            states, latency, clocks, missing, refused and dropped batches, device names used by more than one agent, \
            sizes of stores and how long they suffice, sensors, access rights and certificates that expire within 30 days, and with --store also the free disk space, and whether a running collector \
            writes to an SQLite store. To check access rights, it publishes one empty message, which all programs ignore. It \
            changes nothing. The exit status is 1 if a check fails, or if its result is unknown.

            EXAMPLES
              lockstep doctor
              lockstep doctor --broker mqtts://broker.local --seconds 30 --json
            """)

    @OptionGroup var store: Options<DoctorStoreSettings>

    @Option(help: "Duration of the check in seconds, 1 to 3600.")
    var seconds = 8

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print the findings as one JSON array.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        guard (1...3600).contains(seconds) else { throw ValidationError("--seconds must be from 1 to 3600") }
    }

    func run() throws {
        let settings = try connection.settings(including: [DoctorStoreSettings.self])
        let root = try connection.topicRoot(settings)
        let address = try settings.value(store.store)
        let password = try store.password.read(settings)
        let (link, broker) = try connection.link(settings, for: "doctor")
        let interrupt = Interrupt(wakeup: link.wakeup)
        var observations = try DoctorSession(link: link, broker: broker, root: root).run(
            seconds: Double(seconds), interrupt)
        observations.userIsOfCertificate = try connection.hasOnlyCertificate(settings)
        observations.isVersionChosen = try connection.broker.version(settings) != nil
        var certificates = CertificateWatch(tls: try connection.broker.tls(settings))
        _ = certificates.update(broker: link.certificateExpiry, at: Moment.now().wall.microseconds)
        observations.certificates = certificates.times
        observations.store = address
        switch address {
        case .sqlite(let path):
            observations.disk = diskSpace(at: path)
            if observations.disk == nil {
                throw CommandFailure(
                    "there is no store at \(path): check the path, or start a collector with this store")
            }
            observations.storeLocation = StoreLocation(file: path)
        case .clickHouse(var address):
            address.password = password
            let servers = ServerDiagnosis.all(
                address.replicas.map { server in
                    (
                        server,
                        Result { () throws(StoreError) in try ServerStatus(of: server, timeout: 20_000) }
                    )
                })
            observations.servers = servers
            observations.disk = servers.compactMap { (try? $0.status.get())?.disk }.min { $0.free < $1.free }
                .map { ($0.free, $0.size) }
        case nil: break
        }
        let findings = Diagnosis(observations: observations, now: Moment.now().wall).findings
        Terminal.output.write(json ? Self.json(findings) : Self.text(findings, for: .output))
        if findings.contains(where: { [.failure, .unknown].contains($0.level) }) { throw ExitCode(1) }
    }

    static func text(_ findings: [Finding], for terminal: Terminal) -> String {
        let width = findings.map(\.subject.count).max() ?? 0
        var text = ""
        for finding in findings {
            let (label, style): (String, Terminal.Style) =
                switch finding.level {
                case .ok: ("ok     ", .green)
                case .warning: ("warning", .yellow)
                case .failure: ("FAILED ", .red)
                case .unknown: ("unknown", .yellow)
                }
            let subject = finding.subject + String(repeating: " ", count: width - finding.subject.count)
            text += "\(terminal.styled(label, style))  \(terminal.styled(subject, .bold))  \(finding.text)\n"
            if let advice = finding.advice {
                text += String(repeating: " ", count: width + 11) + terminal.styled("→ \(advice)", .faint) + "\n"
            }
        }
        let counts = Finding.Level.allCases.compactMap { level -> String? in
            let count = findings.count { $0.level == level }
            if level == .unknown, count == 0 { return nil }
            return "\(count) \(level.rawValue)" + ([.ok, .unknown].contains(level) || count == 1 ? "" : "s")
        }
        return text + counts.joined(separator: ", ") + "\n"
    }

    static func json(_ findings: [Finding]) -> String {
        let objects = findings.map { finding in
            var object = JSONObjectWriter()
            object.member("level", finding.level.rawValue)
            object.member("subject", finding.subject)
            object.member("text", finding.text)
            object.member("advice", ifPresent: finding.advice)
            return String(decoding: object.finish(), as: UTF8.self)
        }
        return "[" + objects.joined(separator: ",\n ") + "]\n"
    }
}
