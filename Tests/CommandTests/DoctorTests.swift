import Foundation
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepClickHouse
@testable import lockstep

@Suite("Diagnosis")
struct DiagnosisTests {
    private let now = Timestamp(microseconds: 1_800_000_000_000_000)
    private let epoch = Epoch(unchecked: "72fb8639bfae3695")
    private let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))

    /// The observations of a system without problems.
    private func healthy() -> Observations {
        var observations = Observations(broker: BrokerAddress(host: "localhost", port: 1883))
        observations.version = .five
        observations.seconds = 8
        observations.canWriteAsDevice = false
        observations.hasRetained = true
        observations.collectors["default/main"] = CollectorHealth(
            status: .online, at: now, devices: 1, stored: 100, version: lockstepVersion)
        observations.gateways["default/main"] = GatewayHealth(
            status: .online, at: now, devices: 2, accepted: 7, version: lockstepVersion)
        var device = Observations.Device()
        device.state = LifecycleTransition(
            from: nil, to: .active, since: now - 60_000_000, reason: "start", seq: 1)
        device.presence = Presence(
            epoch: epoch, session: 1, phase: .foreground, at: now, sources: ["iio": "running"])
        device.ack = Acknowledgement(epoch: epoch, through: 40)
        device.highest[epoch] = 43
        device.latencies = [900_000, 1_000_000, 1_100_000]
        observations.devices[left] = device
        return observations
    }

    /// Returns the findings for the observations of a healthy system after a change.
    private func findings(_ change: (inout Observations) -> Void) -> [Finding] {
        var observations = healthy()
        change(&observations)
        return Diagnosis(observations: observations, now: now).findings
    }

    @Test("an address of the broker's host that does not answer is a warning that names it")
    func unansweredAddress() {
        #expect(!findings { _ in }.contains { $0.text.contains("does not answer") })
        let warnings = findings { $0.unansweredAddresses = ["2001:db8::1"] }.filter { $0.text.contains("2001:db8::1") }
        #expect(warnings.map(\.level) == [.warning] && warnings.map(\.subject) == ["broker"])
    }

    @Test("times in seconds are reported, by a live sample or by the state")
    func timesInSeconds() {
        let early = Timestamp(microseconds: 1_800_000_000)
        let live = findings { $0.devices[left]?.latencies = [now - early] }
        let state = findings {
            $0.devices[left]?.state = LifecycleTransition(from: nil, to: .active, since: early, reason: "start", seq: 1)
        }
        for found in [live, state] {
            #expect(found.last?.text == "its live samples have times of 1970-01-01T00:30:00Z", "\(found)")
            #expect(found.last?.advice?.hasPrefix("send times in µs since 1970, not in s or ms") == true)
        }
    }

    @Test("two collectors with one id are found by the stores that they report, and a retained report does not count")
    func severalStores() {
        let stores = ["1", "2"].map { CollectorHealth.Store(id: $0, name: "/\($0).db", host: "pi") }
        func found(
            _ reports: [(CollectorHealth.Status, Int, isRetained: Bool)], groups: [String] = ["default"]
        ) -> [Finding] {
            findings { observations in
                for (number, (status, store, isRetained)) in reports.enumerated() {
                    let health = CollectorHealth(
                        status: status, at: now, version: lockstepVersion, store: stores[store])
                    observations.record(
                        topic: "lockstep/\(groups[number % groups.count])/$collector/main",
                        payload: Data(health.encoded()), contentType: nil, isRetained: isRetained, root: .standard,
                        at: now)
                }
            }.filter { $0.level == .failure }
        }
        // With other groups, a collector reports on another topic, but uses the same session.
        for groups in [["default"], ["default", "lab"]] {
            let found = found([(.online, 0, false), (.online, 1, false), (.online, 0, false)], groups: groups)
            #expect(
                found.map(\.text) == ["two collectors use this id with different stores: /1.db on pi and /2.db on pi"])
            #expect(found.map(\.subject) == ["collector main"])
        }
        #expect(found([(.online, 0, true), (.online, 1, false), (.online, 1, false)]) == [])
        #expect(found([(.offline, 0, false), (.online, 1, false)]) == [])
    }

    @Test("a store to which no running collector writes is reported, unless a collector does not name its store")
    func unusedStore() {
        let location = StoreLocation(name: "/1.db", key: "1", isLocal: false)
        func found(
            _ ids: [String?], _ status: CollectorHealth.Status = .online, name: String = "/2.db", host: String = "pi"
        ) -> [String] {
            findings { observations in
                observations.storeLocation = location
                for (number, id) in ids.enumerated() {
                    observations.collectors[number == 0 ? "default/main" : "default/c\(number)"] = CollectorHealth(
                        status: status, at: now, version: lockstepVersion,
                        store: id.map { CollectorHealth.Store(id: $0, name: name, host: host) })
                }
            }.filter { $0.subject == "store" }.map(\.text)
        }
        #expect(found(["2"]) == ["no running collector writes to /1.db: default/main writes to /2.db on pi"])
        #expect(found(["2", location.id]) == [])
        #expect(found([location.id]) == [])
        #expect(found(["2", nil]) == [])
        #expect(found(["2"], .offline) == [])
        // The id of a store may change, but a file with this name on another machine is another store.
        #expect(found(["2"], name: "/1.db", host: location.host) == [])
        #expect(found(["2"], name: "/1.db", host: location.host + "2").count == 1)
    }

    @Test("a system without problems has only findings of level ok")
    func ok() {
        let found = findings { _ in }
        #expect(found.map(\.level) == [.ok, .ok, .ok, .ok, .ok])
        #expect(found[1] == Finding(.ok, "access", "this user cannot publish as a device"))
        #expect(
            found[3]
                == Finding(
                    .ok, "gateway default/main",
                    "online; 2 devices, 7 messages accepted, 0 refused, 0 KB in its outbox"))
        #expect(found[4] == Finding(.ok, "device default/left", "active for 60s, latency 1000 ms"))
    }

    @Test(
        "a replica that is away is a warning while the others are a majority, and several separate servers are refused")
    func servers() throws {
        let addresses = try ClickHouseAddress("clickhouse://a,b,c/lockstep").replicas
        func levels(_ count: Int, away: Int, isReplicated: Bool = true) -> [Finding.Level] {
            var status = ServerStatus(version: "18.16.1", devices: 1, parts: 1)
            if isReplicated {
                status.replica = ReplicaStatus(total: count, active: count, queue: 0, readOnlyTables: 0)
            }
            let hosts = addresses.prefix(count).enumerated().map { index, address in
                (address, index < away ? .failure(StoreError(.unreachable, "away")) : Result.success(status))
            }
            return ServerDiagnosis.all(hosts).flatMap(\.findings).map(\.level)
        }
        #expect(levels(3, away: 0) == [.ok, .ok, .ok, .ok, .ok, .ok])
        #expect(levels(3, away: 1) == [.warning, .ok, .ok, .ok, .ok])
        #expect(levels(3, away: 2) == [.failure, .failure, .ok, .ok])
        #expect(levels(2, away: 1) == [.failure, .ok, .ok])
        #expect(levels(1, away: 0, isReplicated: false) == [.ok])
        #expect(levels(2, away: 0, isReplicated: false) == [.failure, .failure])
    }

    @Test("each defect is reported as one failure with advice")
    func failures() {
        let defects: [(String, (inout Observations) -> Void)] = [
            (
                "broker",
                {
                    $0.version = nil
                    $0.failure = MQTTError(.connectionLost, "Connection refused")
                }
            ),
            ("collector", { $0.collectors = [:] }),
            ("collector default/main", { $0.collectors["default/main"]?.status = .offline }),
            (
                "collector default/main",
                {
                    $0.collectors["default/main"]?.status = .stalled
                    $0.collectors["default/main"]?.problem = "disk full"
                }
            ),
            ("gateway default/main", { $0.gateways["default/main"]?.status = .offline }),
            ("gateway default/main", { $0.gateways["default/main"]?.status = .stalled }),
            ("device default/left", { $0.devices[self.left]?.latencies = [-3_000_000] }),
            ("device default/left", { $0.devices[self.left]?.presence?.droppedSamples = 7 }),
            ("access", { $0.canRead = false }),
        ]
        for (subject, change) in defects {
            let found = findings(change).filter { $0.level == .failure }
            #expect(found.map(\.subject) == [subject])
            #expect(found.allSatisfy { $0.advice != nil })
        }
    }

    @Test("a collector that is offline is a warning while another collects its group and partition")
    func successor() {
        func level(_ offline: String, _ online: String) -> Finding.Level? {
            let found = findings {
                let health = $0.collectors.removeValue(forKey: "default/main")
                $0.collectors[online] = health
                $0.collectors[offline] = health
                $0.collectors[offline]?.status = .offline
            }
            return found.first { $0.subject == "collector \(offline)" }?.level
        }
        #expect(level("west/a", "west/b") == .warning)
        #expect(level("west/a", "east/b") == .failure)
        #expect(level("west/a.1", "west/b.1") == .warning)
        #expect(level("west/a.1", "west/b.0") == .failure)
    }

    @Test("samples dropped by agents are counted, and unrestricted access to a local broker is not a warning")
    func mentioned() {
        let found = findings {
            $0.collectors["default/main"]?.dropped = 70
            $0.canWriteAsDevice = true
        }
        #expect(found.map(\.level) == [.ok, .ok, .ok, .ok, .ok])
        #expect(found[1].text.hasPrefix("this user can publish as any device, which is acceptable"))
        #expect(found[2].text.hasSuffix(", 70 dropped by agents"))
    }

    @Test("a phone at rest and a client without an agent may be silent, and advice names what can be done about them")
    func publishers() throws {
        let quiet = { (sources: [String: String]?) in
            self.findings {
                $0.devices[self.left]?.latencies = []
                if let sources {
                    $0.devices[self.left]?.presence?.sources = sources
                } else {
                    $0.devices[self.left]?.presence = nil
                }
            }.filter { $0.level != .ok }.compactMap(\.advice)
        }
        #expect(
            quiet(["gpsd://localhost": "running"]).map {
                $0.hasPrefix("check its sensors: lockstep command default/left")
            }
                == [true])
        #expect(quiet(["replay:walks/a.csv": "running"]).count == 1)
        #expect(quiet(["owntracks/alice/phone": "running"]).isEmpty)
        #expect(quiet(nil).isEmpty)
        for (sources, advice) in [
            (["iio": "running"], "its agent keeps recorded samples"),
            (["owntracks/a/b": "running"], "the app that sends"),
            ([:], "check the program that publishes it"),
        ] {
            let found = findings {
                $0.devices[self.left]?.presence?.sources = sources
                $0.devices[self.left]?.state = LifecycleTransition(
                    from: .active, to: .background, since: self.now - 10_000_000, reason: "silent", seq: 2)
            }.first { $0.level == .warning }
            #expect(found?.advice?.contains(advice) == true, "\(found as Any)")
            #expect(found?.advice?.hasSuffix("lockstep forget default/left") == true)
        }
    }

    @Test("advice about rejected messages is a command, and the last will of a stalled collector has no version")
    func commands() {
        func advice(_ store: StoreAddress?) -> String? {
            findings {
                $0.collectors["default/main"]?.rejected = 3
                $0.store = store
            }.first { $0.level == .warning }?.advice
        }
        #expect(advice(nil)?.hasPrefix("show the reasons: journalctl -u") == true)
        #expect(advice(.sqlite(path: "a b.db"))?.hasSuffix("query rejected --store 'sqlite:a b.db' --from -1h") == true)
        let stalled = findings {
            $0.collectors["default/main"] = CollectorHealth(status: .stalled, at: self.now, problem: "disk full")
        }
        #expect(stalled.filter { $0.subject == "collector default/main" }.map(\.level) == [.failure])
    }

    @Test("batches on their way, and those of before a new store, are no problem")
    func onItsWay() {
        func texts(missing: ClosedRange<Int64>, pending: ClosedRange<Int64>) -> [String] {
            findings {
                $0.devices[self.left]?.presence?.epoch = self.epoch
                $0.devices[self.left]?.presence?.seq = 9
                $0.devices[self.left]?.presence?.pending = [self.epoch: SequenceSet([pending])]
                $0.devices[self.left]?.ack = Acknowledgement(
                    epoch: self.epoch, through: 0, missing: [missing], highest: 9)
            }.filter { $0.level != .ok || $0.text.contains("batch") }.map(\.text)
        }
        #expect(texts(missing: 5...7, pending: 5...7) == ["3 batches on the way: the device still has them"])
        #expect(texts(missing: 1...7, pending: 5...7).first?.hasPrefix("the store has no batches up to 4, and") == true)
        #expect(texts(missing: 5...7, pending: 5...6).first?.hasPrefix("batch 7 is not in the store, and") == true)
    }

    @Test("a condition that may be temporary or intended is a warning")
    func warnings() {
        let conditions: [(String, (inout Observations) -> Void)] = [
            ("supports MQTT 3.1.1", { $0.version = .three }),
            ("the last report is 5m old", { $0.collectors["default/main"]?.at = self.now - 300_000_000 }),
            ("version 99.1, but this program has", { $0.collectors["default/main"]?.version = "99.1" }),
            ("unknown version", { $0.collectors["default/main"]?.version = nil }),
            (
                "this user can publish as any device, and",
                {
                    $0.canWriteAsDevice = true
                    $0.broker = BrokerAddress(host: "broker.example", port: 8883)
                }
            ),
            ("3 rejected", { $0.collectors["default/main"]?.rejected = 3 }),
            (
                "no device has connected",
                {
                    $0.devices = [:]
                    $0.collectors["default/main"]?.devices = 0
                }
            ),
            ("active for 60s, but no samples in 8 s", { $0.devices[self.left]?.latencies = [] }),
            ("with a latency of 30.0 s", { $0.devices[self.left]?.latencies = [30_000_000] }),
            (
                "3 batches are not in the store, and the device no longer has them; the first is batch 5",
                {
                    $0.devices[self.left]?.ack = Acknowledgement(
                        epoch: self.epoch, through: 4, missing: [5...7], highest: 9)
                }
            ),
            ("batches up to 40 of 900", { $0.devices[self.left]?.highest[self.epoch] = 900 }),
            ("gpsd: no fix", { $0.devices[self.left]?.presence?.sources["gpsd"] = "no fix" }),
            ("invalid message on 'a/b': not JSON", { $0.unreadable["a/b"] = "not JSON" }),
            ("5 of 100 MB free", { $0.disk = (5 << 20, 100 << 20) }),
            (
                "no messages for 10s (silent)",
                {
                    $0.devices[self.left]?.state = LifecycleTransition(
                        from: .active, to: .background, since: self.now - 10_000_000, reason: "silent", seq: 2)
                }
            ),
        ]
        for (text, change) in conditions {
            let found = findings(change).filter { $0.level == .warning }
            #expect(found.count == 1 && found[0].text.contains(text) == true, "\(text): \(found)")
        }
    }
}

@Suite("lockstep doctor", .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DoctorCommandTests {
    @Test("a running system is checked, and a failure gives exit status 1")
    func running() async throws {
        try await withSystem { system in
            let doctor = ["doctor", "--broker", system.broker.url, "--seconds", "1"]
            let empty = try await RunningProgram.run(Programs.built("lockstep"), doctor)
            #expect(empty.status == 1 && empty.text.contains("no collector has connected to this broker yet"))
            if Programs.isInstalled("script") {
                let command = ([Programs.built("lockstep")] + doctor).joined(separator: " ")
                let shown = try await RunningProgram.run(
                    "/usr/bin/script", ["-qec", command, "/dev/null"], environment: ["TERM": "xterm"])
                #expect(shown.text.contains("listening for 1 s more"), "\(shown.text)")
            }
            let collector = try system.startCollector()
            _ = try system.startAgent("walker")
            let client = try await system.connect()
            await client.expectMessage { $0.topic.hasSuffix("/state") }
            await client.expectMessage { $0.topic.hasSuffix("motion/gyroscope") }
            await expectEventually("\(collector.text)") {
                let run = try? await RunningProgram.run(Programs.built("lockstep"), doctor + ["--json"])
                guard let run, run.status == 0,
                    let objects = try? JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [[String: String]]
                else { return false }
                return objects.map { $0["subject"] } == [
                    "broker", "access", "collector default/main", "device default/walker",
                ]
                    && objects.allSatisfy { $0["level"] == "ok" }
            }
        }
    }

    @Test(
        "the advice for a broker that cannot be reached fits the reason",
        arguments: [
            (MQTTError.Code.unreachable, "check that the broker is running"),
            (.unknownHost, "correct the host in --broker"), (.handshakeAborted, "something answers at this address"),
            (.connectionLost, "the broker was reached: read its log"),
            (.badCredentials, "set the user with --user"), (.notAuthorized, "set the user with --user"),
            (.tls, "correct --broker or the files of --ca-file"), (.invalid, "correct --broker or the files"),
            (.unsupportedVersion, "set another version with --mqtt"), (.refused, "check host and port in --broker"),
        ])
    func connectionAdvice(_ code: MQTTError.Code, _ advice: String) {
        var observations = Observations(broker: BrokerAddress(host: "localhost", port: 1883))
        observations.failure = MQTTError(code, "reason")
        let found = Diagnosis(observations: observations, now: Timestamp(microseconds: 0)).findings
        #expect(found.map(\.level) == [.failure])
        #expect(found.first?.advice?.hasPrefix(advice) == true, "\(found)")
    }

    @Test(
        "a user whose name is in the certificate is not asked for a password",
        arguments: [MQTTError.Code.badCredentials, .notAuthorized])
    func certificateAdvice(_ code: MQTTError.Code) {
        var observations = Observations(broker: BrokerAddress(host: "localhost", port: 8883, usesTLS: true))
        observations.failure = MQTTError(code, "reason")
        observations.userIsOfCertificate = true
        let advice = Diagnosis(observations: observations, now: Timestamp(microseconds: 0)).findings.first?.advice
        #expect(advice?.contains("the user from the certificate of --cert-file") == true, "\(advice ?? "")")
        #expect(advice?.contains("password") == false, "\(advice ?? "")")
    }

    @Test("a broker that allows few messages in flight is named with its setting, another one is not")
    func messagesInFlight() async throws {
        for limit in [20, 5000] {
            try await withSystem(brokerSettings: ["max_inflight_messages \(limit)"]) { system in
                let doctor = try await RunningProgram.run(
                    Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "1"])
                let text =
                    "each client may have \(limit) messages in flight, so a collector stores few at a time"
                #expect(doctor.text.contains(text) == (limit == 20), "\(doctor.text)")
            }
        }
    }

    @Test("an unreachable broker is a failure")
    func unreachable() async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["doctor", "--broker", "mqtt://127.0.0.1:1"])
        #expect(run.status == 1)
        #expect(
            run.text.hasPrefix("FAILED   broker  mqtt://127.0.0.1:1: Connection refused: nothing listens at this port"))
        #expect(run.text.hasSuffix("\n0 ok, 0 warnings, 1 failure\n"))
    }
}
