import LockstepModel
import Testing

@testable import LockstepMotion

@Suite("Declination")
struct DeclinationTests {
    private static let degree = Double.pi / 180

    /// A fix in Auckland, where the declination is about 20° east, `seconds` after a time in November 2026.
    private func fix(_ seconds: Double, latitude: Double = -36.85, longitude: Double = 174.76) -> LocationFix {
        var fix = LocationFix(
            coordinate: Coordinate(latitude: latitude, longitude: longitude),
            time: Timestamp(microseconds: 1_795_000_000_000_000 + Int64(seconds * 1e6)))
        fix.horizontalAccuracy = 5
        return fix
    }

    private func row(_ fix: LocationFix) -> SampleBlock {
        var block = SampleBlock(stream: .location)
        block.append(time: fix.time, values: fix.values)
        return block
    }

    @Test("the declination is that of the model at the newest location")
    func newest() throws {
        var source = DeclinationSource()
        #expect(source.declination == nil && source.status == .noLocation && source.needsLocation)
        source.update(row(fix(0)))
        let first = try #require(source.declination)
        let expected = WorldMagneticModel.wmm2025.field(at: fix(0).coordinate, date: fix(0).time)?.declination
        #expect(first == expected && abs(first / Self.degree - 20) < 1)
        #expect(source.status == .model(name: "WMM2025", isDateValid: true))
        // A row without position changes nothing.
        var lost = SampleBlock(stream: .location)
        lost.append(time: fix(1).time, values: [.nan, .nan, .nan, .nan, .nan, .nan, .nan, 1, .nan])
        source.update(lost)
        #expect(source.declination == first)
        // A short move and an implausible jump change nothing either; a long move does.
        source.update(fix(2, latitude: -36.853))
        source.update(fix(3, latitude: 47))
        #expect(source.declination == first)
        source.update(fix(3600, latitude: -37.3))
        let later = try #require(source.declination)
        #expect(later != first && abs(later - first) < 1 * Self.degree)
    }

    @Test("an implausible altitude is ignored", arguments: [-6_378_137, -1e9, 1e9, 1e300])
    func altitude(_ altitude: Double) {
        var expected = DeclinationSource()
        expected.update(fix(0))
        var source = DeclinationSource()
        var fix = fix(0)
        fix.altitude = altitude
        source.update(fix)
        #expect(source.declination == expected.declination && source.status == expected.status)
    }

    @Test("a given declination is used unchanged, without locations")
    func given() {
        var source = DeclinationSource(given: 0.1)
        source.update(fix(0))
        #expect(source.declination == 0.1 && source.status == .given && !source.needsLocation)
    }

    @Test("the status reports a nearby magnetic pole and a date outside of the model's validity")
    func limits() {
        var polar = DeclinationSource()
        polar.update(fix(0, latitude: 85.8, longitude: 139))
        #expect(polar.declination == nil && polar.status == .unreliableCompass)
        var late = DeclinationSource()
        var future = fix(0)
        future.time = Timestamp(microseconds: 2_000_000_000_000_000)
        late.update(future)
        #expect(late.declination != nil && late.status == .model(name: "WMM2025", isDateValid: false))
        #expect("\(late.status)" == "declination from WMM2025, which is not valid at this date")
    }

    @Test("the frame becomes true north with the first location, and remains so after a restart")
    func estimator() throws {
        let device = TurningDevice(motionFactor: 0.2)
        var (trueNorth, magnetic) = (
            DeviceMotionEstimator(options: .init(referenceFrame: .trueNorth)), DeviceMotionEstimator()
        )
        #expect(trueNorth.needsLocation && !magnetic.needsLocation && magnetic.declinationStatus == nil)
        let before = device.motions(from: &trueNorth, seconds: 0..<5)
        #expect(before.allSatisfy { $0.referenceFrame == .magneticNorth })
        #expect(trueNorth.declinationStatus == .noLocation)
        let none = trueNorth.update(row(fix(0)))
        #expect(none.isEmpty && trueNorth.declinationStatus == .model(name: "WMM2025", isDateValid: true))
        let after = try #require(device.motions(from: &trueNorth, seconds: 5..<8).last)
        let reference = try #require(device.motions(from: &magnetic, seconds: 0..<8).last)
        #expect(after.referenceFrame == .trueNorth && after.timestamp == reference.timestamp)
        let difference = try #require(after.heading) - (try #require(reference.heading))
        let declination = try #require(WorldMagneticModel.wmm2025.field(at: fix(0).coordinate, date: fix(0).time))
        #expect(abs(difference - declination.declination) < 1e-9)
        _ = trueNorth.finish()
        let restarted = device.motions(from: &trueNorth, seconds: 20..<22)
        #expect(restarted.last?.referenceFrame == .trueNorth)
    }
}
