import LockstepModel
import LockstepMotion
import Testing

@Suite("Coordinates and fixes")
struct CoordinateTests {
    private func place(_ latitude: Double, _ longitude: Double) -> Coordinate {
        Coordinate(latitude: latitude, longitude: longitude)
    }

    @Test("distances are geodesic distances on the ellipsoid")
    func distances() {
        // Flinders Peak to Buninyong: the example of Geoscience Australia for Vincenty's formulae.
        let flinders = place(-37 - 57 / 60.0 - 3.72030 / 3600, 144 + 25 / 60.0 + 29.52440 / 3600)
        let buninyong = place(-37 - 39 / 60.0 - 10.15610 / 3600, 143 + 55 / 60.0 + 35.38390 / 3600)
        let survey = flinders.distance(to: buninyong)
        #expect(abs(survey - 54_972.271) < 0.5)
        // A degree along the equator, along a meridian at the equator and at a pole.
        #expect(abs(place(0, 10).distance(to: place(0, 11)) - 111_319.491) < 0.1)
        #expect(abs(place(0, 10).distance(to: place(1, 10)) - 110_574.389) < 0.5)
        #expect(abs(place(89, 10).distance(to: place(90, 10)) - 111_693.916) < 0.5)
        // A quarter of a meridian.
        #expect(abs(place(0, 0).distance(to: place(90, 0)) - 10_001_965.729) < 20)
    }

    @Test("the distance is defined for close, equal and antipodal positions and across the date line")
    func edges() {
        let here = place(46.5, 7.5)
        #expect(here.distance(to: here) == 0)
        let millimetre = here.distance(to: place(46.5 + 9e-9, 7.5))
        #expect(abs(millimetre - 1e-3) < 1e-5)
        #expect(abs(place(0, 179.5).distance(to: place(0, -179.5)) - 111_319.491) < 0.1)
        let opposite = place(0, 0).distance(to: place(0, 180))
        #expect(opposite.isFinite && abs(opposite - 20_015_000) < 30_000)
        #expect(place(90, 0).distance(to: place(90, 120)) < 1e-6)
    }

    @Test("a fix is converted to a row and back, with known and unknown values")
    func rows() throws {
        let time = Timestamp(microseconds: 1_795_000_000_000_000)
        let nan = Double.nan
        let rows: [[Double]] = [
            [46.5, 7.5, 1200, 4, 8, 1.5, 270, 3, 1_794_999_999_000_000],
            [46.5, 7.5, nan, 4, nan, nan, nan, 2, nan],
        ]
        for row in rows {
            let fix = try #require(LocationFix(time: time, values: row))
            #expect(zip(fix.values, row).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) })
        }
        let whole = try #require(LocationFix(time: time, values: rows[0]))
        #expect(whole.age(at: time) == 1)
        #expect(LocationFix(time: time, values: [nan, nan, nan, nan, nan, nan, nan, 1, nan]) == nil)
        let absurd = try #require(LocationFix(time: time, values: [1, 2, nan, nan, nan, nan, nan, 2, 1e300]))
        #expect(absurd.fixTime == nil)
    }
}
