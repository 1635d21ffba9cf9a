import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("View of a cluster")
struct ClusterViewTests {
    private let shares = (0..<12).map { CollectorShare(group: GroupID(unchecked: "g\($0)")) }

    @Test("shares are divided evenly, and all members compute the same", arguments: 1...12)
    func even(count: Int) {
        let members = Set((0..<count).map { CollectorID(unchecked: "c\($0)") })
        let owners = ShareAssignment.owners(of: shares, members: members)
        #expect(owners.count == 12)
        let counts = Dictionary(grouping: owners.values, by: { $0 }).values.map(\.count)
        #expect(counts.allSatisfy { $0 <= (12 + count - 1) / count })
        #expect(ShareAssignment.owners(of: shares.reversed(), members: members) == owners)
    }

    @Test("the end of a member moves few other shares")
    func moves() {
        let members = Set((0..<4).map { CollectorID(unchecked: "c\($0)") })
        let before = ShareAssignment.owners(of: shares, members: members)
        let after = ShareAssignment.owners(of: shares, members: members.subtracting([id("c0")]))
        let moved = shares.filter { before[$0] != id("c0") && before[$0] != after[$0] }
        #expect(moved.count <= 3)
    }

    @Test("without members, nobody owns anything")
    func nobody() { #expect(ShareAssignment.owners(of: shares, members: []).isEmpty) }

    @Test("a member claims its free shares, but not before it knows the others")
    func claims() {
        var view = view(of: "a")
        #expect(actions(view, at: 100).isEmpty)
        view.connected(at: 0)
        view.receivedMember(id("a"), isRunning: true, at: 0)
        #expect(actions(view, at: 1_000_000).isEmpty)
        #expect(actions(view, at: 2_000_000) == Set(shares.map { .start($0, claiming: ObservedLease(nil)) }))
        view.receivedMember(id("b"), isRunning: true, at: 1_000_000)
        #expect(actions(view, at: 2_000_000).count == 6)
        view.disconnected()
        #expect(actions(view, at: 3_000_000).isEmpty)
    }

    @Test("a share is claimed when its lease was read and is free: released, or not written for 18 s")
    func leases() {
        let share = shares[0]
        let owner = LeaseOwner(collector: id("b"), claim: 1)
        var view = ClusterView(me: id("a"), shares: shares)
        func observed(_ owner: LeaseOwner?, _ revision: UInt64) -> ObservedLease {
            ObservedLease(KeyValueEntry(value: LeaseRecord(token: token(5), owner: owner).payload, revision: revision))
        }
        view.connected(at: 0)
        #expect(actions(view, at: 5_000_000).isEmpty, "nothing was read")
        view.observed(observed(owner, 1), of: share, at: 5_000_000)
        view.observed(observed(owner, 1), of: share, at: 20_000_000)
        #expect(actions(view, at: 22_999_999).isEmpty)
        #expect(actions(view, at: 23_000_000) == [.start(share, claiming: observed(owner, 1))])
        var renewed = view
        renewed.observed(observed(owner, 2), of: share, at: 22_000_000)
        #expect(actions(renewed, at: 30_000_000).isEmpty)
        // This process was stopped, so that it does not know whether the owner has renewed the lease.
        view.resumed(at: 60_000_000)
        #expect(actions(view, at: 61_999_999).isEmpty)
        view.observed(observed(nil, 2), of: share, at: 62_000_000)
        #expect(actions(view, at: 62_000_000) == [.start(share, claiming: observed(nil, 2))])
        // This collector's own record is one of an earlier process, which may have been stopped only.
        view.observed(observed(LeaseOwner(collector: id("a"), claim: 3), 3), of: share, at: 63_000_000)
        #expect(actions(view, at: 63_000_000).isEmpty)
        for share in shares.dropFirst() { view.observed(ObservedLease(nil), of: share, at: 64_000_000) }
        #expect(actions(view, at: 64_000_000).count == 11)
    }

    @Test("a member without renewals loses its shares, and a new member gets some")
    func membership() {
        var view = view(of: "a")
        view.connected(at: 0)
        view.receivedMember(id("b"), isRunning: true, at: 0)
        let mine = Set(shares)
        let moved = actions(view, running: mine, at: 3_000_000)
        #expect(moved.count == 6 && moved.allSatisfy { if case .stop = $0 { true } else { false } })
        #expect(actions(view, running: mine, at: 18_000_000).isEmpty)
        view.receivedMember(id("b"), isRunning: true, at: 18_000_000)
        #expect(actions(view, running: mine, at: 18_000_000).count == 6)
        view.receivedMember(id("b"), isRunning: false, at: 18_000_001)
        #expect(actions(view, running: mine, at: 18_000_001).isEmpty)
    }

    @Test("a member that drains releases everything and claims nothing")
    func draining() {
        var view = view(of: "a")
        view.connected(at: 0)
        #expect(Set(view.actions(running: [shares[3]], isDraining: true, at: 9_000_000)) == [.stop(shares[3])])
    }

    @Test("a member that cannot collect releases everything, and claims again when it can")
    func unavailable() {
        var view = view(of: "a")
        view.connected(at: 0)
        view.setAvailable(false, at: 3_000_000)
        #expect(actions(view, running: [shares[3]], at: 3_000_000) == [.stop(shares[3])])
        #expect(actions(view, at: 9_000_000).isEmpty)
        view.setAvailable(true, at: 10_000_000)
        #expect(actions(view, at: 11_000_000).isEmpty, "others may become available at the same time")
        #expect(actions(view, at: 12_000_000).count == shares.count)
    }

    @Test("the number of known members is limited, and those that have expired make room")
    func limit() {
        var view = view(of: "a")
        view.connected(at: 0)
        for number in 0..<ClusterView.maxMembers {
            view.receivedMember(id("other\(number)"), isRunning: true, at: 0)
        }
        view.receivedMember(id("late"), isRunning: true, at: 17_999_999)
        #expect(view.memberCount == ClusterView.maxMembers)
        view.receivedMember(id("late"), isRunning: true, at: 18_000_000)
        #expect(view.memberCount == 1)
        view.receivedMember(id("late"), isRunning: false, at: 18_000_001)
        #expect(view.memberCount == 0)
    }

    @Test("a group that is divided has each device in one partition")
    func partitions() throws {
        let parts = try CollectorShare.shares("lab:4")
        #expect(parts.map(\.description) == ["lab:0-4", "lab:1-4", "lab:2-4", "lab:3-4"])
        var counts = [0, 0, 0, 0]
        for number in 0..<1000 {
            let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "d\(number)"))
            let owners = parts.filter { $0.contains(device) }
            #expect(owners.count == 1)
            counts[owners[0].partition] += 1
        }
        #expect(counts.allSatisfy { $0 > 150 })
        #expect(try CollectorShare.shares("lab") == [CollectorShare(group: GroupID(unchecked: "lab"))])
    }

    @Test("invalid shares are refused", arguments: ["", "a b", "lab:", "lab:0", "lab:65", "lab:x", "lab:2:3"])
    func invalid(text: String) { #expect(throws: (any Error).self) { try CollectorShare.shares(text) } }

    /// Returns the view of a member that has read that no share has a lease.
    private func view(of name: String) -> ClusterView {
        var view = ClusterView(me: id(name), shares: shares)
        for share in shares { view.observed(ObservedLease(nil), of: share, at: 0) }
        return view
    }
    private func actions(
        _ view: ClusterView, running: Set<CollectorShare> = [], at now: Int64
    ) -> Set<ClusterView.Action> { Set(view.actions(running: running, isDraining: false, at: now)) }
    private func id(_ name: String) -> CollectorID { CollectorID(unchecked: name) }
    private func token(_ value: UInt32) -> FencingToken { FencingToken(rawValue: value) }
}
