import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Scope of a collector")
struct CollectorScopeTests {
    private static func scope(_ root: String = "lockstep", _ groups: [String] = []) throws -> CollectorScope {
        CollectorScope(root: try TopicRoot(root), groups: groups.map { GroupID(unchecked: $0) })
    }

    /// Macros cannot call mutating functions.
    private func take(_ earlier: inout EarlierSubscriptions) -> [String] { earlier.takePending() }

    @Test(
        "a topic is covered if a subscription matches it",
        arguments: [
            ([], "lockstep/lab/pi/steps", true), ([], "lockstep", true), ([], "lockstep/", true),
            ([], "lockstep2/lab/pi/steps", false), ([], "other/lab/pi/steps", false),
            (["lab"], "lockstep/lab/pi/steps", true), (["lab"], "lockstep/lab2/pi/steps", false),
            (["lab", "north"], "lockstep/north/$collector/main", true), (["lab"], "lockstep/no group", false),
        ] as [([String], String, Bool)])
    func covers(_ groups: [String], _ topic: String, _ isCovered: Bool) throws {
        #expect(try Self.scope("lockstep", groups).covers(topic) == isCovered)
    }

    @Test(
        "the other filters that match a topic are those of each possible root, without the own ones",
        arguments: [
            // Restarted with one group.
            ("lockstep", ["north"], "lockstep/south/b/steps", ["lockstep/#", "lockstep/south/#"]),
            // Restarted with all groups: the earlier subscription delivers the messages a second time.
            ("lockstep", [], "lockstep/south/b/steps", ["lockstep/south/#"]),
            ("lockstep", ["north", "south"], "lockstep/south/b/steps", ["lockstep/#"]),
            // Restarted with another root.
            ("new", [], "old/lab/b/steps", ["old/#", "old/lab/#"]),
            ("new", [], "site/old/lab/b/steps", ["site/#", "site/old/#", "site/old/lab/#"]),
            ("site/new", ["lab"], "site/new/lab/b/steps", ["site/#", "site/new/#"]),
            ("new", [], "short", []), ("new", [], "a/b", []), ("new", [], "new", []),
        ] as [(String, [String], String, [String])])
    func foreignFilters(_ root: String, _ groups: [String], _ topic: String, _ filters: [String]) throws {
        #expect(try Self.scope(root, groups).foreignFilters(matching: topic) == filters)
    }

    @Test("a subscription of earlier settings is ended once for each connection")
    func onceForEachConnection() throws {
        let scope = try Self.scope("lockstep", ["north"])
        var earlier = EarlierSubscriptions()
        earlier.connected(sessionPresent: true)
        earlier.receivedTopic("lockstep/north/a/steps", in: scope)
        #expect(take(&earlier) == ["lockstep/#"])
        for _ in 1...3 { earlier.receivedOutside("lockstep/south/b/steps", of: scope) }
        #expect(take(&earlier) == ["lockstep/south/#"])
        // The connection may have ended before the broker received that.
        earlier.connected(sessionPresent: true)
        #expect(take(&earlier) == ["lockstep/#", "lockstep/south/#"])
        earlier.receivedOutside("lockstep/south/b/steps", of: scope)
        #expect(take(&earlier) == [])
    }

    @Test("messages that are read together with the answer to the connect are not missed")
    func beforeConnected() throws {
        let scope = try Self.scope("lockstep", ["north"])
        var earlier = EarlierSubscriptions()
        earlier.receivedTopic("lockstep/north/a/steps", in: scope)
        earlier.receivedOutside("lockstep/south/b/steps", of: scope)
        earlier.connected(sessionPresent: true)
        earlier.receivedOutside("lockstep/south/c/steps", of: scope)
        #expect(take(&earlier) == ["lockstep/#", "lockstep/south/#"])
    }

    @Test("a new session has no subscription of earlier settings")
    func newSession() throws {
        var earlier = EarlierSubscriptions()
        earlier.connected(sessionPresent: false)
        earlier.receivedTopic("lockstep/north/a/steps", in: try Self.scope("lockstep", ["north"]))
        #expect(earlier.pending.isEmpty)
    }

    @Test("invented topics do not fill memory")
    func inventedTopics() throws {
        let scope = try Self.scope("lockstep", ["north"])
        var earlier = EarlierSubscriptions()
        earlier.connected(sessionPresent: true)
        for number in 0..<5000 { earlier.receivedOutside("lockstep/g\(number)/b/steps", of: scope) }
        #expect(earlier.pending.count == EarlierSubscriptions.maxFilters)
    }

    @Test("messages outside of the scope are reported at once, and then once a minute")
    func report() throws {
        let scope = try Self.scope("lockstep", ["north"])
        var earlier = EarlierSubscriptions()
        var first = earlier.takeReport(at: 0)
        #expect(first == nil)
        earlier.receivedOutside("lockstep/south/b/steps", of: scope)
        first = earlier.takeReport(at: 0)
        #expect(first?.messages == 1)
        for _ in 1...2 { earlier.receivedOutside("lockstep/south/c/steps", of: scope) }
        let early = earlier.takeReport(at: 59_999_999)
        let second = earlier.takeReport(at: 60_000_000)
        let third = earlier.takeReport(at: 120_000_000)
        #expect(early == nil && third == nil)
        #expect(second?.messages == 2 && second?.topic == "lockstep/south/c/steps")
    }

    @Test("messages of other groups and other roots are neither stored nor rejected, whatever the broker delivers")
    func neitherStoredNorRejected() throws {
        var intake = Intake(
            scope: try Self.scope("lockstep", ["north"]), limits: PayloadLimits(), maxFuture: 60_000_000,
            maxDevices: 3, devices: [])
        var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))
        let batch = BatchJSON.encode(IntakeTests.batch(at: 10))
        for topic in ["lockstep/south/b/motion/accelerometer", "old/north/b/motion/accelerometer"] {
            intake.ingest(topic, batch, &registry, 11)
            intake.ingest(topic, Array("{".utf8), &registry, 11)
        }
        for (channel, payload) in [
            ("presence", #"{"phase":"foreground"}"#), ("forget", "{}"), ("nonsense", "x"), ("state", ""),
            ("event/acknowledge", #"{"id":1}"#),
        ] { intake.ingest("lockstep/south/b/\(channel)", Array(payload.utf8), &registry, 11) }
        #expect(intake.group.isEmpty && !intake.forgetting.isDue)
        let report = intake.earlierSubscriptions.takeReport(at: 0)
        #expect(report?.messages == 9)
        intake.ingest("lockstep/north/a/motion/accelerometer", batch, &registry, 11)
        #expect(intake.group.batches.count == 1 && intake.group.rejected.isEmpty)
    }
}
