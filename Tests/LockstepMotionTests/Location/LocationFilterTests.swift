import LockstepModel
import LockstepMotion
import Testing

/// Returns a fix `north` m north of a village in the Alps, `seconds` after a time in November 2026.
func fix(
    _ seconds: Double, north: Double = 0, accuracy: Double? = 5, receiver: Timestamp? = nil
) -> LocationFix {
    let begin = Timestamp(microseconds: 1_795_000_000_000_000)
    var fix = LocationFix(
        coordinate: Coordinate(latitude: 46.5 + north / 111_170, longitude: 7.5),
        time: begin + Int64(seconds * 1e6))
    fix.horizontalAccuracy = accuracy
    fix.fixTime = receiver ?? fix.time
    return fix
}

extension LocationDecision {
    var isAccepted: Bool { if case .accepted = self { true } else { false } }
    var reason: LocationRejection? { if case .rejected(let reason) = self { reason } else { nil } }
}

@Suite("Location filter")
struct LocationFilterTests {
    private func filter(_ change: (inout LocationFilter.Settings) -> Void = { _ in }) -> LocationFilter {
        var settings = LocationFilter.Settings()
        change(&settings)
        return LocationFilter(settings)
    }

    @Test("an accepted fix is reported with the previous one")
    func previous() {
        var filter = filter()
        let first = filter.update(fix(0))
        #expect(first == .accepted(previous: nil, current: fix(0)))
        let second = filter.update(fix(1, north: 10))
        #expect(second == .accepted(previous: fix(0), current: fix(1, north: 10)))
        #expect(filter.current == fix(1, north: 10))
        #expect(filter.previous == fix(0))
    }

    @Test("fixes less accurate than desired are rejected, those of unknown accuracy are not")
    func accuracy() {
        var filter = filter { $0.desiredAccuracy = 10 }
        let poor = filter.update(fix(0, accuracy: 30))
        #expect(poor == .rejected(.inaccurate(30)))
        let good = filter.update(fix(1, accuracy: 10))
        #expect(good.isAccepted)
        let unknown = filter.update(fix(2, accuracy: nil))
        #expect(unknown.isAccepted)
    }

    @Test("the distance filter measures from the last accepted fix")
    func distance() {
        var filter = filter { $0.distanceFilter = 100 }
        let accepted = (0..<50).filter { filter.update(fix(Double($0), north: Double($0) * 30)).isAccepted }
        #expect(accepted == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48])
        guard case .near(let distance)? = filter.update(fix(60, north: 1440)).reason else {
            Issue.record("a fix of the same place is accepted")
            return
        }
        #expect(distance < 1)
    }

    @Test("a stale fix is marked, and rejected if stale fixes are not allowed")
    func stale() {
        var marking = filter()
        let old = fix(100, receiver: fix(80).time)
        guard case .accepted(_, let current) = marking.update(old) else {
            Issue.record("an old position is not accepted")
            return
        }
        #expect(current.isStale)
        guard case .accepted(_, let fresh) = marking.update(fix(101, receiver: fix(100).time)) else {
            Issue.record("a new position is not accepted")
            return
        }
        #expect(!fresh.isStale)
        #expect(!marking.isStale(at: fix(105).time))
        #expect(marking.isStale(at: fix(115).time))

        var rejecting = filter { $0.rejectsStale = true }
        #expect(rejecting.isStale(at: fix(0).time))
        let rejected = rejecting.update(old)
        #expect(rejected == .rejected(.stale(20)))
        // A fix that was fresh on arrival is stale when it is processed later.
        let remembered = rejecting.update(fix(101), now: fix(130).time)
        #expect(remembered == .rejected(.stale(29)))
    }

    @Test("invalid coordinates and out-of-order fixes are rejected")
    func nonsense() {
        var filter = filter()
        var nowhere = fix(0, accuracy: nil)
        nowhere.coordinate = Coordinate(latitude: 0, longitude: 0)
        let island = filter.update(nowhere)
        #expect(island == .rejected(.invalidCoordinate))
        for (latitude, longitude) in [(91.0, 0.0), (0, 181), (.nan, 0), (1, -.infinity)] {
            var outside = fix(0)
            outside.coordinate = Coordinate(latitude: latitude, longitude: longitude)
            let decision = filter.update(outside)
            #expect(decision == .rejected(.invalidCoordinate))
        }
        let good = filter.update(fix(1))
        #expect(good.isAccepted)
        let repeated = filter.update(fix(1, north: 3))
        #expect(repeated == .rejected(.outOfOrder))
        // Latitude and longitude 0 with a known accuracy are valid: a ship in the Gulf of Guinea.
        nowhere.horizontalAccuracy = 4
        var ship = self.filter()
        let aboard = ship.update(nowhere)
        #expect(aboard.isAccepted)
    }

    @Test("after one time in the future, later fixes are accepted again")
    func timeInTheFuture() {
        var filter = filter()
        let wrong = filter.update(fix(600))
        #expect(wrong.isAccepted)
        let decisions = (1...20).map { filter.update(fix(Double($0))) }
        #expect(decisions.prefix(3).allSatisfy { !$0.isAccepted })
        #expect(decisions.suffix(10).allSatisfy { $0.isAccepted })
    }

    @Test("a row without position results in an unknown location")
    func noFix() {
        var filter = filter()
        let decision = filter.update(
            time: fix(0).time, values: [.nan, .nan, .nan, .nan, .nan, .nan, .nan, 1, .nan])
        #expect(decision == .failed(.locationUnknown("the receiver has no fix")))
        #expect("\(LocationError.locationUnknown("no fix"))" == "location unknown, retrying: no fix")
    }
}
