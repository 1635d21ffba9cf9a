import LockstepMQTT
import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Ownership")
struct OwnershipTests {
    private static let lost = MQTTError(.connectionLost, "test")

    @Test("a session reads, stores and sends at any time, and does not end with a connection or a commit")
    func session() {
        var ownership = Ownership()
        ownership.didConnect()
        ownership.lose(ShareProblem(StoreError(.unreachable, "test")))
        ownership.didFailToConnect(Self.lost)
        ownership.beginTurn(at: .max)
        let (stores, sends) = questions(&ownership, at: .max)
        #expect(ownership.mayRead && stores && sends && !ownership.hasEnded && !ownership.endsWithConnection)
    }

    @Test("a session knows whether the broker could not be reached since its last connection")
    func unreachable() throws {
        var ownership = Ownership()
        ownership.didFailToConnect(MQTTError(.refused, "test"))
        #expect(try state(ownership).wasUnreachable == false)
        ownership.didFailToConnect(MQTTError(.unreachable, "test"))
        #expect(try state(ownership).wasUnreachable && !state(ownership).hasConnected)
        ownership.didConnect()
        #expect(try state(ownership).wasUnreachable == false && state(ownership).hasConnected)
    }

    @Test("a share reads and stores nothing before it is taken over, but can connect")
    func claimed() {
        let lease = heldLease(at: 0)
        var ownership = Ownership(claiming: lease)
        var (stores, sends) = questions(&ownership, at: 1)
        #expect(!ownership.mayRead && !stores && sends && !ownership.hasEnded)
        ownership.didTakeOver()
        (stores, sends) = questions(&ownership, at: 1)
        #expect(ownership.mayRead && stores && sends && ownership.endsWithConnection)
    }

    @Test("a share whose lease was not renewed stores and sends nothing, also when it is renewed later")
    func expired() {
        let lease = heldLease(at: 0)
        var ownership = Ownership(claiming: lease)
        ownership.didTakeOver()
        let (stores, sends) = questions(&ownership, at: Lease.validity)
        #expect(!stores && !sends && ownership.hasEnded && !ownership.mayRead)
        lease.confirm(lease.token, sentAt: Lease.validity)
        let later = questions(&ownership, at: Lease.validity + 1)
        #expect(!later.stores && !later.sends)
        #expect(ownership.shareProblem?.description == "the lease was not renewed in time")
    }

    @Test("a share ends with its lease, for the reason of the keeper")
    func ended() {
        let lease = heldLease(at: 0)
        var ownership = Ownership(claiming: lease)
        ownership.didTakeOver()
        lease.end("another collector has claimed the share")
        #expect(ownership.hasEnded && ownership.shareProblem?.description == "another collector has claimed the share")
        let (stores, sends) = questions(&ownership, at: 1)
        #expect(!stores && !sends)
    }

    @Test("a share ends with its connection or a failed commit, and the first reason stays")
    func lostConnection() {
        for isFirst in [true, false] {
            var ownership = Ownership(claiming: heldLease(at: 0))
            ownership.didTakeOver()
            let commit = ShareProblem(StoreError(.unreachable, "no server", isCutOff: true))
            let connection = ShareProblem(Self.lost)
            ownership.lose(isFirst ? commit : connection)
            ownership.lose(isFirst ? connection : commit)
            #expect(ownership.hasEnded && ownership.shareProblem?.isStoreClosed == isFirst)
        }
    }

    @Test("attempts to connect may fail until a share is taken over")
    func attempts() {
        var ownership = Ownership(claiming: heldLease(at: 0))
        ownership.didFailToConnect(MQTTError(.unreachable, "node 1"))
        ownership.beginTurn(at: 0)
        #expect(!ownership.hasEnded)
        ownership.didTakeOver()
        ownership.didFailToConnect(Self.lost)
        #expect(ownership.hasEnded)
    }

    @Test("a share without a connection at the deadline is lost, for the reason of the last attempt")
    func deadline() {
        var ownership = Ownership.share(heldLease(at: 0), .claimed(connectBy: .now, problem: nil))
        ownership.didFailToConnect(MQTTError(.unreachable, "node 1"))
        ownership.beginTurn(at: 0)
        #expect(ownership.shareProblem?.description.contains("node 1") == true)
    }

    private func heldLease(at boot: Int64) -> Lease {
        let lease = Lease(CollectorShare(group: .standard))
        lease.confirm(FencingToken(rawValue: 1), sentAt: boot)
        return lease
    }

    private func questions(_ ownership: inout Ownership, at boot: Int64) -> (stores: Bool, sends: Bool) {
        (ownership.mayStore { boot }, ownership.maySend { boot })
    }

    private func state(_ ownership: Ownership) throws -> SessionState {
        guard case .session(let session) = ownership else { throw ShareProblem("a share") }
        return session
    }
}
