import LockstepAgent
import LockstepModel
import Testing

@testable import LockstepGateway

@Suite("Intake of a gateway")
struct GatewayIntakeTests {
    private func message(at time: Int64, isRetained: Bool = false) -> ForeignMessage {
        ForeignMessage(
            origin: .topic("senml/a"), payload: Array(#"[{"bt":\#(time),"n":"pressure","u":"Pa","v":1}]"#.utf8),
            isRetained: isRetained, receivedAt: receipt)
    }

    @Test("the devices of one user are limited over MQTT as over HTTP, and a refused message is not accepted")
    func userDevices() async throws {
        try await withOutbox(for: OwnTracksAdapter()) { original, outbox in
            var configuration = original
            configuration.maxUserDevices = 2
            var intake = GatewayIntake(configuration)
            func refusal(_ origin: ForeignMessage.Origin) -> Refusal? {
                let text = #"{"_type":"location","tst":\#(receipt.microseconds / 1_000_000),"lat":1,"lon":2}"#
                let message = ForeignMessage(origin: origin, payload: Array(text.utf8), receivedAt: receipt)
                do throws(Refusal) { _ = try intake.ingest(message, outbox: outbox) } catch { return error }
                return nil
            }
            func request(_ device: String) -> ForeignMessage.Origin {
                .request(HTTPFacts(path: "/owntracks", query: ["d": device], user: "alice"))
            }
            #expect(refusal(.topic("owntracks/alice/a")) == nil && refusal(request("b")) == nil)
            for origin in [.topic("owntracks/alice/c"), request("c")] {
                #expect(refusal(origin)?.kind == .tooManyDevices)
                #expect(
                    refusal(origin)?.description == "the user 'alice' already has 2 devices: raise --max-user-devices")
            }
            #expect(refusal(.topic("owntracks/alice/a")) == nil, "a known device")
            #expect(refusal(.topic("owntracks/bob/a")) == nil)
            let again = try GatewayOutbox(path: configuration.outboxPath + "-other")
            #expect(again.senders.count(ofUser: "alice") == 0)
            configuration.maxDevices = 3
            intake = GatewayIntake(configuration)
            #expect(refusal(.topic("owntracks/carol/a"))?.kind == .tooManyDevices)
        }
    }

    @Test("a known sender whose samples are all refused has been heard, and its last state stays")
    func refusedSamples() async throws {
        try await withOutbox(for: SenMLAdapter()) { configuration, outbox in
            var intake = GatewayIntake(configuration)
            let present = receipt.microseconds / 1_000_000
            // It can never be right.
            let future = present * 3

            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts().isEmpty && outbox.devices.count == 0, "an unknown sender makes no device")

            _ = try intake.ingest(message(at: present), outbox: outbox)
            let contact = SenderContact(format: "senml", presence: ForeignPresence(.foreground, reason: "message"))
            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts() == [0: contact])

            #expect(throws: Refusal.self) { try intake.ingest(message(at: future), outbox: outbox) }
            #expect(intake.takeContacts() == [0: SenderContact(format: "senml", presence: nil)])

            #expect(throws: Refusal.self) {
                try intake.ingest(message(at: future, isRetained: true), outbox: outbox)
            }
            #expect(intake.takeContacts().isEmpty, "a message that the broker kept says nothing about its sender")
        }
    }

    @Test(
        "a message that repeats the fix of the one before, and tells no other time, has values of the time of arrival")
    func repeatedFix() async throws {
        try await withOutbox(for: OwnTracksAdapter()) { configuration, outbox in
            var intake = GatewayIntake(configuration)
            let fix = receipt.microseconds / 1_000_000 - 3600
            func send(_ battery: Int, after seconds: Int64, fix: Int64, isRetained: Bool = false) throws {
                let text = #"{"_type":"location","tst":\#(fix),"lat":1,"lon":2,"batt":\#(battery)}"#
                _ = try intake.ingest(
                    ForeignMessage(
                        origin: .topic("owntracks/u/d"), payload: Array(text.utf8), isRetained: isRetained,
                        receivedAt: Timestamp(microseconds: receipt.microseconds + seconds * 1_000_000)),
                    outbox: outbox)
            }
            func times(_ stream: SensorStream, isLate: Bool) -> [Int64] {
                additions.filter { $0.samples.stream == stream && $0.isLate == isLate }
                    .flatMap { $0.samples.times.map { ($0 - receipt.microseconds) / 1_000_000 } }.sorted()
            }
            // From here on, the phone lies still.
            try send(90, after: 0, fix: fix - 60)
            try send(80, after: 1, fix: fix)
            try send(60, after: 600, fix: fix)
            try send(12, after: 1200, fix: fix)
            try send(12, after: 1300, fix: fix, isRetained: true)
            var additions = intake.takeAdditions()
            #expect(times(.battery, isLate: true) == [-3660, -3600, 1200], "the retained one is the last one again")
            #expect(times(.battery, isLate: false) == [600, 1200])
            #expect(
                times(.location, isLate: true).allSatisfy { $0 < 0 }
                    && times(.location, isLate: false) == [-3600, -3600])
            // A message that is sent again after others, such as by a broker after a restart of the gateway, has its time.
            intake = GatewayIntake(configuration)
            try send(90, after: 1400, fix: fix - 60)
            try send(80, after: 1401, fix: fix)
            additions = intake.takeAdditions()
            #expect(times(.battery, isLate: true) == [-3660, -3600] && times(.battery, isLate: false).isEmpty)
        }
    }

    @Test("a message that is sent again has the time of the first time, unless its commit failed")
    func redeliveredFix() async throws {
        try await withOutbox(for: OwnTracksAdapter()) { configuration, outbox in
            var intake = GatewayIntake(configuration)
            let fix = receipt.microseconds / 1_000_000 - 3600
            /// Returns the times of the batteries and of the positions in seconds after the receipt.
            func commit(
                _ messages: [(fix: Int64, battery: Int)], after seconds: Int64, succeeds: Bool = true
            ) throws -> [[Int64]] {
                for (fix, battery) in messages {
                    let text = #"{"_type":"location","tst":\#(fix),"lat":1,"lon":2,"batt":\#(battery)}"#
                    let arrival = Timestamp(microseconds: receipt.microseconds + seconds * 1_000_000)
                    _ = try intake.ingest(
                        ForeignMessage(
                            origin: .topic("owntracks/u/d"), payload: Array(text.utf8), receivedAt: arrival),
                        outbox: outbox)
                }
                let additions = intake.takeAdditions()
                intake.didCommit(succeeds)
                return [SensorStream.battery, .location].map { stream in
                    additions.filter { $0.samples.stream == stream }
                        .flatMap { $0.samples.times.map { ($0 - receipt.microseconds) / 1_000_000 } }.sorted()
                }
            }
            // The outbox cannot be written twice.
            let first = [(fix: fix, battery: 80)]
            for seconds: Int64 in [1, 2] {
                let failed = try commit(first, after: seconds, succeeds: false)
                #expect(failed == [[-3600], [-3600]])
            }
            let messages = first + [(fix, 79), (fix + 60, 78), (fix + 60, 77)]
            let times: [[Int64]] = [[-3600, -3540, 10, 10], [-3600, -3600, -3540, -3540]]
            #expect(try commit(messages, after: 9, succeeds: false)[0] == [-3600, -3540, 9, 9])
            #expect(try commit(messages, after: 10) == times)
            // The acknowledgements are lost twice.
            #expect(try commit(messages, after: 20) == times)
            #expect(try commit(messages, after: 30) == times)
            #expect(try commit([(fix + 60, 76)], after: 40) == [[40], [-3540]], "the last fix is still known")
        }
    }

    @Test(
        "samples in the future are accepted while the gateway's clock may be wrong, and refused when others agree with it"
    )
    func clockBehind() async throws {
        try await withOutbox(for: OwnTracksAdapter()) { configuration, outbox in
            var intake = GatewayIntake(configuration)
            let day: Int64 = 86_400
            var now = receipt.microseconds / 1_000_000
            func send(_ device: String, at time: Int64, fix: Int64? = nil) throws -> [String] {
                let text = #"{"_type":"location","created_at":\#(time),"tst":\#(fix ?? time),"lat":1,"lon":2,"batt":5}"#
                return try intake.ingest(
                    ForeignMessage(
                        origin: .topic("owntracks/u/\(device)"), payload: Array(text.utf8),
                        receivedAt: Timestamp(microseconds: now * 1_000_000)), outbox: outbox
                ).omissions
            }
            func count() -> Int { intake.takeAdditions().reduce(0) { $0 + $1.samples.times.count } }

            // Nobody agrees with the gateway: with three days before now, and in 1970.
            let present = now
            for gateway in [present - 3 * day, 1000] {
                now = gateway
                for device in ["a", "b"] { #expect(try send(device, at: present).isEmpty) }
                #expect(count() == 4)
            }
            let found = intake.takeClockDoubt()
            let doubt = try #require(found)
            #expect(doubt.sample.microseconds == present * 1_000_000 && doubt.now.microseconds == 1_000_000_000)
            #expect(intake.takeClockDoubt() == nil)
            // A message of three days ago has the gateway's time, but the next one of this sender has not.
            now = present - 3 * day
            #expect(try send("c", at: now - 1).isEmpty && send("c", at: present).isEmpty)
            #expect(try send("a", at: present).isEmpty)
            #expect(count() == 6)

            // The clock is right. One device is ahead.
            now = present
            for device in ["a", "b", "c"] { #expect(try send(device, at: present - 1).isEmpty) }
            _ = count()
            let refusal = #expect(throws: Refusal.self) { try send("d", at: present + 3 * day) }
            #expect(refusal?.kind == .implausibleTime)
            #expect(refusal?.description.contains("shows \(receipt)") == true, "both clocks")
            #expect(count() == 0)
            // A wrong time of a sender whose clock is right.
            intake = GatewayIntake(configuration)
            #expect(try send("a", at: present, fix: present + 3 * day).count == 1)
            #expect(count() == 1)
        }
    }
}
