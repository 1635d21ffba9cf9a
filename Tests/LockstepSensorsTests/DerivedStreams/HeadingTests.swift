import Glibc
import LockstepModel
import LockstepMotion
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("Headings")
struct HeadingTests {
    private static let degree = Double.pi / 180

    /// Returns device motion with the top edge `course` degrees clockwise from north, raised by `pitch` degrees.
    private func motion(
        course: Double, pitch: Double = 0, frame: AttitudeReferenceFrame = .magneticNorth,
        accuracy: CalibratedMagneticField.Accuracy = .high
    ) -> DeviceMotion {
        let attitude =
            Quaternion(angle: -course * Self.degree, axis: SIMD3(0, 0, 1))
            * Quaternion(angle: pitch * Self.degree, axis: SIMD3(1, 0, 0))
        return DeviceMotion(
            timestamp: Timestamp(microseconds: 1), attitude: Attitude(quaternion: attitude), referenceFrame: frame,
            gravity: SIMD3(0, 0, -1), userAcceleration: .zero,
            magneticField: CalibratedMagneticField(field: SIMD3(0, 20, -40), accuracy: accuracy))
    }

    @Test("the heading remains the same while the top edge is raised to upright", arguments: [0, 45, 80, 90])
    func direction(pitch: Double) throws {
        for course in [0.0, 1, 90, 180, 270, 359] {
            let heading = try #require(HeadingEstimate(motion(course: course, pitch: pitch), declination: nil))
            #expect(abs(heading.magnetic - course) < 0.02)
            #expect(heading.trueNorth == nil)
        }
    }

    @Test("the heading of a device with its top edge down is the direction of its screen")
    func upsideDown() throws {
        let heading = try #require(HeadingEstimate(motion(course: 30, pitch: -80), declination: nil))
        #expect(abs(heading.magnetic - 30) < 0.02)
    }

    @Test("the declination converts between magnetic and true north, and wraps around")
    func declination() throws {
        let east = try #require(HeadingEstimate(motion(course: 355), declination: 10 * Self.degree))
        #expect(abs(east.magnetic - 355) < 0.02)
        #expect(abs((east.trueNorth ?? -1) - 5) < 0.02)
        let west = try #require(HeadingEstimate(motion(course: 5, frame: .trueNorth), declination: 10 * Self.degree))
        #expect(abs(west.magnetic - 355) < 0.02)
        #expect(abs((west.trueNorth ?? -1) - 5) < 0.02)
    }

    @Test("an attitude without north has no heading")
    func withoutNorth() {
        #expect(HeadingEstimate(motion(course: 0, frame: .arbitrary), declination: 0) == nil)
        #expect(HeadingEstimate(motion(course: 0, frame: .arbitraryCorrected), declination: 0) == nil)
    }

    @Test("the accuracy follows from that of the magnetic calibration, and is unknown without calibration")
    func accuracy() throws {
        func accuracy(_ field: CalibratedMagneticField.Accuracy) throws -> Double? {
            try #require(HeadingEstimate(motion(course: 0, accuracy: field), declination: nil)).accuracy
        }
        #expect(try accuracy(.high) == 5)
        #expect(try accuracy(.medium) == 10)
        #expect(try accuracy(.low) == 30)
        #expect(try accuracy(.uncalibrated) == nil)
    }

    @Test("the heading of the simulated walker is its course, and the true heading differs by the declination")
    func simulated() throws {
        let body = WalkingBody(seed: 2)
        let source = SimulatedSource(seed: 2)
        var graph = SensorGraph(sources: [source])
        let subscriber = graph.addSubscriber()
        _ = graph.setRequests([.heading: SensorRequest(rate: 10)], for: subscriber)
        #expect(Set(graph.sourceRates.keys) == [.accelerometer, .gyroscope, .magnetometer, .location])
        var schedule = SimulationSchedule(body: body, rate: 100, start: 0)
        schedule.setRates(graph.sourceRates)
        var headings = SampleBlock(stream: .heading)
        for second in 0...60 {
            for block in schedule.take(through: Int64(second) * 1_000_000) {
                for output in graph.update(block) { headings.append(contentsOf: output.samples) }
            }
        }
        #expect((550...610).contains(headings.count))
        for index in headings.times.indices where headings.times[index] > 30_000_000 {
            let values = headings.values(at: index)
            let time = Double(headings.times[index]) / 1e6
            // The walker's device sways by a few degrees around the course; magnetic north lies at the declination.
            let top = body.attitude(at: time).rotate(SIMD3(0, 1, 0))
            let expected = atan2(top.x, top.y) / Self.degree
            #expect(abs(remainder(values[1] - expected, 360)) < 8)
            // The simulated declination is rounded.
            #expect(abs(remainder(values[1] - values[0] - body.person.declination / Self.degree, 360)) < 1)
        }
    }

    @Test(
        "a direction is from 0 up to 360 degrees, also after rounding",
        arguments: [(359.96, 0), (-0.01, 0), (360, 0), (-90, 270), (719.94, 359.9), (359.94, 359.9), (-1e-20, 0)])
    func compass(degrees: Double, expected: Double) {
        #expect(compassDegrees(degrees, decimals: 1) == expected)
    }
}
