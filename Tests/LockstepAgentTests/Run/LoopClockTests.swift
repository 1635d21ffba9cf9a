import FoundationEssentials
import LockstepMQTT
import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import LockstepWire
import Testing

@testable import LockstepAgent

@Suite("The agent's loop and the clocks", .temporaryFolder)
struct LoopClockTests {
    private let hour: Int64 = 3_600_000_000

    @Test(
        "a suspend is published after the wake, as background and foreground with their own times",
        .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
    func suspend() async throws {
        try await withBroker { broker in
            let client = TestClient(broker.address, filters: ["lockstep/+/+/presence"])
            #expect(await client.waitUntilListening())
            let loop = try makeLoop(broker: broker.address)
            var asleep: Int64 = 0
            func turn() {
                var moment = Moment.now()
                // Only the boot clock counts the time asleep.
                moment.boot += asleep
                moment.wall = moment.wall + asleep
                loop.link.wait(until: .now + .milliseconds(20))
                loop.step(at: moment)
            }
            func presences(_ reason: String) throws -> [Presence] {
                try client.messages.map { try PresenceJSON.decode(Data($0.payload)) }.filter { $0.reason == reason }
            }
            try await expectEventually {
                turn()
                return try !presences("start").isEmpty
            }
            asleep = hour
            try await expectEventually {
                turn()
                return try !presences("suspend").isEmpty && !presences("wake").isEmpty
            }
            let began = try #require(try presences("suspend").first)
            let woke = try #require(try presences("wake").first)
            #expect(began.phase == .background && woke.phase == .foreground)
            let between = try #require(woke.at) - #require(began.at)
            #expect((hour...hour + 60_000_000).contains(between))
            #expect(loop.outbox.epoch == began.epoch, "a suspend does not start an epoch")
            await client.stop()
        }
    }

    @Test("an epoch that cannot be written is retried once a second until it is written")
    func epochRetry() throws {
        let loop = try makeLoop()
        let epoch = loop.outbox.epoch
        var moment = Moment.now()
        loop.step(at: moment)
        let other = try SQLiteDatabase(path: TemporaryFolder.path + "/outbox")
        try other.execute("CREATE TRIGGER trap BEFORE UPDATE ON meta BEGIN SELECT RAISE(ABORT, 'trap'); END")
        func pass(_ microseconds: Int64) {
            moment.boot += microseconds
            moment.awake += microseconds
            moment.wall = moment.wall + microseconds
            loop.step(at: moment)
        }
        moment.wall = moment.wall + hour
        pass(100_000)
        #expect(loop.outbox.epoch == epoch)
        try other.execute("DROP TRIGGER trap")
        pass(100_000)
        #expect(loop.outbox.epoch == epoch, "the epoch is not retried within the same second")
        pass(1_000_000)
        #expect(loop.outbox.epoch != epoch)
    }
}
