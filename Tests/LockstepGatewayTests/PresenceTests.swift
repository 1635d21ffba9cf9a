import LockstepAgent
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepGateway

@Suite("Silence of foreign senders")
struct SilenceLimitsTests {
    private let limits = SilenceLimits(foreground: 60_000_000, background: 3_600_000_000)

    private func isExceeded(
        _ phase: Phase, silentFor silence: Int64, listeningFor listening: Int64 = 1_000_000_000_000
    ) -> Bool {
        let now: Int64 = 2_000_000_000_000
        return limits.isExceeded(
            in: phase, lastMessage: now - silence, start: now - listening, listening: now - listening, at: now)
    }

    @Test("each phase has its limit, and a sender that said farewell is never lost")
    func phases() {
        for phase in [Phase.foreground, .inactive] {
            #expect(!isExceeded(phase, silentFor: 59_999_999))
            #expect(isExceeded(phase, silentFor: 60_000_000))
        }
        #expect(!isExceeded(.background, silentFor: 3_599_999_999))
        #expect(isExceeded(.background, silentFor: 3_600_000_000))
        for phase in [Phase.terminated, .lost] { #expect(!isExceeded(phase, silentFor: 1_000_000_000_000)) }
    }

    @Test("a gateway that has just connected gives senders time to come back")
    func grace() {
        #expect(!isExceeded(.foreground, silentFor: 86_400_000_000, listeningFor: 59_999_999))
        #expect(isExceeded(.foreground, silentFor: 86_400_000_000, listeningFor: 60_000_000))
        // Two minutes are enough for a long limit. A restart does not begin it anew.
        #expect(!isExceeded(.background, silentFor: 86_400_000_000, listeningFor: 119_999_999))
        #expect(isExceeded(.background, silentFor: 86_400_000_000, listeningFor: 120_000_000))
    }

    @Test("after a time in which the gateway did not run, senders have time to come back")
    func gap() {
        var listening = ListeningTime()
        listening.begin(at: 1_000_000)
        for boot: Int64 in [1_000_000, 2_000_000, 12_000_000] { listening.check(at: boot) }
        #expect(listening.since == 1_000_000)
        #expect(listening.time(at: 12_500_000) == 12_500_000)
        // The break does not count.
        listening.check(at: 312_000_000)
        #expect(listening.since == 12_000_000 && listening.time(at: 312_500_000) == 12_500_000)
        listening.check(at: 313_000_000)
        #expect(listening.since == 12_000_000)
        // Messages that could not be kept.
        listening.begin(at: 313_500_000)
        #expect(listening.since == 13_500_000)
    }

    @Test("a format that reports only changes has a limit only for senders not heard since the start")
    func sinceStart() {
        let limits = SilenceLimits(sinceStart: 300)
        func isExceeded(lastMessage: Int64, at now: Int64) -> Bool {
            limits.isExceeded(in: .foreground, lastMessage: lastMessage, start: 1000, listening: 1100, at: now)
        }
        #expect(!isExceeded(lastMessage: 999, at: 1399))
        #expect(isExceeded(lastMessage: 999, at: 1400))
        #expect(!isExceeded(lastMessage: 1000, at: 1_000_000))
    }

    @Test("the time in which the gateway did not run is no silence, and a restart does not begin the limit anew")
    func downtime() {
        let hour: Int64 = 3_600_000_000
        func times(_ ages: [Int64?]) -> [Int64] {
            EarlierMessages.times(
                ages.map { age in age.map { Timestamp(microseconds: 1_795_575_600_000_000 - $0) } },
                startingAt: Timestamp(microseconds: 1_795_575_600_000_000), boot: 1000)
        }
        #expect(times([25 * hour, 26 * hour, nil]) == [999, 999 - hour, 999])
        // The clock was set back since the messages of some, or of all.
        #expect(times([-hour, hour, 2 * hour]) == [999, 999, 999 - hour])
        #expect(times([-hour, -2 * hour]) == [999, 999])
        // A device that reports only changes is lost if it does not come back, whatever the clock showed.
        for time in times([-hour, 0, hour]) {
            #expect(
                SilenceLimits(sinceStart: 300).isExceeded(
                    in: .foreground, lastMessage: time, start: 1000, listening: 1100, at: 1400))
        }
    }

    @Test("every format has limits")
    func formats() {
        let limits = SilenceLimits.standard(AdapterSettings().makeAll())
        #expect(
            limits.keys.sorted() == ["join", "json", "owntracks", "phyphox", "senml", "sensorlogger", "sparkplug"])
        #expect(limits["join"] == JoinAdapter().silence)
    }
}

@Suite("Presence of foreign senders")
struct PresenceTests {
    private let now = Timestamp(microseconds: 1_795_575_600_000_000)

    private func saved(_ phase: Phase, age: Int64 = 0) -> OutboxPresence {
        OutboxPresence(
            phase: phase, reason: "r", at: Timestamp(microseconds: 1), format: "join",
            heardAt: Timestamp(microseconds: now.microseconds - age), isPublished: true)
    }

    private func contact(_ phase: Phase?) -> SenderContact {
        SenderContact(format: "join", presence: phase.map { ForeignPresence($0, reason: "new") })
    }

    @Test("a change of the phase is saved and published, an equal phase only at first")
    func changes() throws {
        let change = try #require(contact(.background).change(of: saved(.foreground), isFirst: false, at: now))
        #expect(change.record.phase == .background && change.record.at == now && !change.record.isPublished)
        #expect(change.mustPublish)
        #expect(contact(.foreground).change(of: saved(.foreground), isFirst: false, at: now) == nil)
        #expect(contact(.foreground).change(of: saved(.foreground), isFirst: true, at: now)?.mustPublish == true)
        #expect(contact(.foreground).change(of: nil, isFirst: false, at: now)?.mustPublish == true)
    }

    @Test("the time of the last message is saved once a minute, also after the clock was set back")
    func heard() throws {
        #expect(contact(nil).change(of: saved(.foreground, age: 59_999_999), isFirst: false, at: now) == nil)
        for age: Int64 in [60_000_000, -60_000_000] {
            let change = try #require(contact(nil).change(of: saved(.foreground, age: age), isFirst: false, at: now))
            #expect(change.record.heardAt == now && change.record.isPublished && !change.mustPublish)
        }
        #expect(contact(nil).change(of: nil, isFirst: true, at: now) == nil)
    }

    @Test("presences survive a restart, also those of devices without samples")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/g.db"
            let address = DeviceAddress(group: .standard, device: DeviceID(unchecked: "a"))
            do {
                let outbox = try GatewayOutbox(path: path)
                let index = outbox.index(of: address, sender: ForeignName("join", ["a"]))
                _ = try outbox.accept([], presences: [index: saved(.foreground)], at: 0)
                _ = try outbox.accept([], presences: [index: saved(.lost)], at: 0)
            }
            let outbox = try GatewayOutbox(path: path)
            let index = try #require(outbox.devices.index(of: address))
            #expect(outbox.senders[index].presence == saved(.lost))
            #expect(outbox.senders[index].name == "join/a")
        }
    }
}
