import Foundation
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import LockstepWire
import Testing

@testable import lockstep

@Suite("What lockstep doctor cannot know")
struct DoctorDoubtTests {
    private let now = Timestamp(microseconds: 1_800_000_000_000_000)
    private let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))

    /// A broker that tells nothing, of which nothing was received.
    private func findings(_ change: (inout Observations) -> Void) -> [String: Finding] {
        var observations = Observations(broker: BrokerAddress(host: "localhost", port: 1883))
        observations.version = .five
        observations.software = "mosquitto version 2.0.11"
        observations.canWriteAsDevice = true
        observations.seconds = 8
        change(&observations)
        return Dictionary(
            Diagnosis(observations: observations, now: now).findings.map { ($0.subject, $0) }, uniquingKeysWith: { $1 })
    }

    private func live(_ observations: inout Observations) {
        observations.devices[left] = Observations.Device()
        observations.devices[left]?.latencies = [900_000]
    }

    @Test("without a doubt, an absent collector and absent devices are reported as absent")
    func absent() {
        let found = findings { _ in }
        #expect(found["collector"]?.level == .failure && found["devices"]?.level == .warning)
        #expect(found["collector"]?.text == "no collector has connected to this broker yet")
    }

    @Test("in doubt, what was not received is unknown, with the reason")
    func doubts() {
        let doubts: [(String, (inout Observations) -> Void)] = [
            ("no right to read", { $0.canWriteAsDevice = false }), ("no right to read", { $0.canWriteAsDevice = nil }),
            ("keeps no retained messages", { $0.isRetainAvailable = false }),
            ("not every broker sends them", { $0.software = nil }),
            ("not every broker sends them", { $0.version = .three }),
            ("refused the subscription", { $0.canRead = false }), ("connection was lost", { $0.losses = 1 }),
        ]
        for (reason, change) in doubts {
            let found = findings(change)
            for subject in ["collector", "devices"] {
                #expect(found[subject]?.level == .unknown, "\(found)")
                #expect(found[subject]?.text.contains(reason) == true && found[subject]?.advice != nil, "\(found)")
            }
        }
    }

    @Test("a retained message, a report of a collector or a longer check removes the doubt")
    func evidence() {
        #expect(
            findings {
                $0.software = nil
                $0.hasRetained = true
            }["collector"]?.level == .failure)
        for seconds in [24.0, 25] {
            #expect(
                findings {
                    $0.isRetainAvailable = false
                    $0.seconds = seconds
                }["collector"]?.level == (seconds < 25 ? .unknown : .failure))
        }
        #expect(
            findings {
                $0.isRetainAvailable = false
                $0.seconds = 70
            }["devices"]?.level == .warning)
        let reader = findings {
            $0.canWriteAsDevice = false
            $0.collectors["default/main"] = CollectorHealth(status: .online, at: now, version: lockstepVersion)
        }
        #expect(reader["devices"]?.level == .warning, "\(reader)")
        let withDevices = findings {
            $0.canWriteAsDevice = false
            $0.collectors["default/main"] = CollectorHealth(
                status: .online, at: now, devices: 5, version: lockstepVersion)
        }
        #expect(withDevices["devices"]?.level == .unknown)
        #expect(withDevices["devices"]?.text.hasPrefix("the collectors know 5 devices") == true)
    }

    @Test("without retained messages, acknowledgements prove that a collector stores, and the state stays unknown")
    func noState() {
        let subject = "device \(left)"
        #expect(findings(live)[subject]?.text == "publishes samples, but no collector publishes its state")
        let unknown = findings {
            live(&$0)
            $0.isRetainAvailable = false
        }
        #expect(unknown[subject]?.level == .unknown && unknown["collector"]?.level == .unknown)
        let stored = findings {
            live(&$0)
            $0.isRetainAvailable = false
            $0.devices[left]?.isAcknowledged = true
        }
        #expect(stored[subject] == Finding(.ok, subject, "stored by a collector, state unknown, latency 900 ms"))
        #expect(stored["collector"]?.text.hasPrefix("one acknowledges samples") == true)
    }

    @Test("a device's own login sees only the acknowledgements of this device")
    func ownLogin() {
        let found = findings {
            $0.software = nil
            $0.canWriteAsDevice = false
            $0.hasRetained = true
            $0.devices[left] = Observations.Device()
            $0.devices[left]?.record(Acknowledgement(epoch: Epoch(unchecked: "a"), through: 7))
        }
        for subject in ["collector", "device \(left)"] {
            #expect(found[subject]?.level == .unknown, "\(found)")
            #expect(found[subject]?.advice?.contains("credentials of a reader") == true)
        }
    }

    @Test("streams that are not declared here are not called invalid, but a wrong name is")
    func undeclared() {
        let found = findings { observations in
            for topic in ["x/air/co2", "x/Air"] {
                observations.record(
                    topic: "lockstep/default/left/\(topic)", payload: Data("{}".utf8), contentType: nil,
                    isRetained: false, root: .standard, at: now)
            }
            observations.devices[left]?.state = LifecycleTransition(
                from: nil, to: .active, since: now, reason: "start", seq: 1)
            observations.devices[left]?.presence = Presence(
                epoch: nil, session: 1, phase: .foreground, at: now, sources: ["iio": "running"])
        }
        #expect(found["streams"]?.level == .unknown && found["streams"]?.text.contains("x/air/co2") == true)
        #expect(found["messages"]?.text.contains("x/Air") == true)
        #expect(found["device \(left)"]?.level == .ok, "\(found)")
    }

    @Test("write access is unknown if the broker has not answered, or cannot")
    func writeAccess() {
        #expect(findings { $0.canWriteAsDevice = nil }["access"]?.level == .unknown)
        #expect(
            findings {
                $0.canWriteAsDevice = nil
                $0.version = .three
            }["access"]?.level == .unknown)
        let reader = findings {
            $0.canWriteAsDevice = nil
            $0.version = .three
            $0.collectors["default/main"] = CollectorHealth(status: .online, at: now, version: lockstepVersion)
        }
        #expect(reader["access"] == Finding(.ok, "access", "this user cannot publish as a device"))
    }

    @Test("a chosen version of MQTT is no property of the broker, and other problems of an agent have other advice")
    func advice() {
        #expect(findings { $0.version = .three }["broker"]?.advice?.hasPrefix("use a broker with MQTT 5") == true)
        let chosen = findings {
            $0.version = .three
            $0.isVersionChosen = true
        }
        #expect(chosen["broker"]?.advice?.hasPrefix("remove --mqtt") == true)
        let problem = findings {
            live(&$0)
            $0.devices[left]?.state = LifecycleTransition(from: nil, to: .active, since: now, reason: "start", seq: 1)
            $0.devices[left]?.problem = "its outbox cannot be written: read-only file system"
        }
        #expect(problem["device \(left)"]?.advice?.hasPrefix("read the log of its agent") == true)
    }

    @Test("certificates that expire within 30 days and clocks that differ by more than a minute are reported")
    func certificatesAndClocks() {
        let day: Int64 = 86_400_000_000
        var point = ClockPoint(
            collector: CollectorID(unchecked: "main"), time: now, segment: now, offset: -75_000_000, skew: 0, bound: 1,
            skewBound: 1)
        func texts(_ phase: Phase = .foreground) -> [String] {
            var observations = Observations(broker: BrokerAddress(host: "localhost", port: 1883))
            observations.version = .five
            observations.certificates = ["broker": now + 29 * day, "client": now + 31 * day, "ca": now - 1]
            observations.collectors["default/main"] = CollectorHealth(
                status: .online, at: now, version: lockstepVersion,
                certificates: ["broker": now + 29 * day, "client": now + 1])
            observations.collectorClocks["default/main"] = 61_000_000
            observations.devices[left] = Observations.Device()
            observations.devices[left]?.record(
                Presence(
                    epoch: nil, session: 1, phase: phase, at: now, clock: ClockReport(points: [point]),
                    certificates: ["client": now + 10 * day]))
            return Diagnosis(observations: observations, now: now).findings.filter {
                $0.text.contains("expire") || $0.text.contains("clock")
            }.map { "\($0.level) \($0.subject): \($0.text)" }
        }
        let programs = [
            "warning broker: the broker's certificate expires in 29 days, on 2027-02-13",
            "failure broker: the certificate of the trusted authority (--ca-file) has expired on 2027-01-15",
            "warning collector default/main: its clock is 61 s ahead of the clock of this machine",
            "warning collector default/main: the client certificate (--cert-file) expires in 0 days, on 2027-01-15",
        ]
        let device = [
            "warning device default/left: its clock is 75.0 s behind the clock of the collector 'main'",
            "warning device default/left: the client certificate (--cert-file) expires in 10 days, on 2027-01-25",
        ]
        #expect(Set(texts()) == Set(programs + device), "\(texts())")
        // What a device that is gone has reported is old.
        #expect(Set(texts(.lost)) == Set(programs), "\(texts(.lost))")
        point.offset = 60_000_000
        #expect(!texts().contains { $0.contains("the collector 'main'") })
    }
}

@Suite(
    "lockstep doctor with rights and brokers that show little",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct DoctorUnknownTests {
    private func doctor(_ system: TestSystem, _ arguments: [String] = []) async throws -> (status: Int32, text: String)
    {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["doctor", "--broker", system.broker.url, "--seconds", "2"] + arguments)
    }

    @Test("with the rights of one device, mosquitto grants the subscription, and the result is unknown")
    func ownLogin() async throws {
        try await withTemporaryFolder { folder in
            let rights = folder + "/acl"
            try """
            topic readwrite #
            user default/walker
            topic deny #
            """.write(toFile: rights, atomically: true, encoding: .utf8)
            try await withSystem(brokerSettings: ["acl_file \(rights)"]) { system in
                _ = try system.startCollector()
                _ = try system.startAgent("walker")
                let client = try await system.connect()
                await client.expectMessage { $0.topic.hasSuffix("/state") }
                let run = try await doctor(system, ["--user", "default/walker"])
                #expect(run.status == 1 && run.text.contains("unknown  collector"), "\(run.text)")
                #expect(run.text.contains("no right to read"), "\(run.text)")
                #expect(!run.text.contains("no collector has connected"), "\(run.text)")
            }
        }
    }

    @Test("a broker without retained messages refuses collectors, which is reported, and the rest is unknown")
    func noRetained() async throws {
        try await withSystem(brokerSettings: ["retain_available false"]) { system in
            let collector = try system.startCollector()
            #expect(await collector.waitForOutput("Retain not supported"), "\(collector.text)")
            let run = try await doctor(system)
            #expect(run.status == 1 && run.text.contains("unknown  collector"), "\(run.text)")
            #expect(run.text.contains("FAILED   broker     it keeps no retained messages"), "\(run.text)")
            #expect(!run.text.contains("no collector has connected"), "\(run.text)")
        }
    }
}
