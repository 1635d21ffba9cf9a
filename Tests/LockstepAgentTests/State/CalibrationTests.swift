import LockstepModel
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport
import Testing

@testable import LockstepAgent

private let calibration = InertialCalibration(
    time: Timestamp(microseconds: start), matrix: [SIMD3(1.1, 0, 0), SIMD3(0, 1, 0), SIMD3(0, 0, 1)],
    offset: SIMD3(0.2, 0, 0), rotationOffset: SIMD3(0, 0.1, 0), positions: 9, errorBefore: 0.08, errorAfter: 0.001)

private let calibrate =
    #"{"id":"c","calibrate":{"t":1700000000000000,"matrix":[1.1,0,0,0,1,0,0,0,1],"offset":[0.2,0,0],"#
    + #""rate_offset":[0,0.1,0],"positions":9,"error_before":0.08,"error_after":0.001}}"#

private let sensors = "accelerometer: source 0, gyroscope: source 0"

/// A source with one sensor.
private struct DescribedSource: SensorSource {
    let name = "iio"
    let description: SensorDescription
    var streams: [SensorStream] { [description.stream] }

    func sensors() -> [SensorDescription] { [description] }
    func run(into sink: any SampleSink) async throws {}
}

@Suite("Calibration of an agent's samples")
struct CalibrationTests {
    private func makeLoop(
        streams: [SensorStream] = [.accelerometer, .gyroscope], sources: Int = 1, stored: SensorCalibration? = nil
    ) -> FakeLoop {
        FakeLoop(streams: streams, sources: sources, calibration: stored)
    }

    /// Returns the values of the samples that are written for one sample of the accelerometer and one of the gyroscope.
    private func written(_ loop: inout FakeLoop) -> [SensorStream: [Double]] {
        let before = loop.written.count
        for stream in [SensorStream.accelerometer, .gyroscope] {
            let samples = SampleBlock(stream: stream, times: [start + loop.boot], columns: [[1.2], [0.3], [-0.5]])
            loop.send(.item(.samples(samples, .own)))
        }
        loop.request(#"{"flush":true}"#)
        loop.turn(after: 20_000)
        return Dictionary(loop.written.dropFirst(before).map { ($0.stream, $0.values(at: 0)) }) { first, _ in first }
    }

    @Test("a calibration applies to the samples after it, and appears in the presence, until it is removed")
    func applied() {
        var loop = makeLoop()
        loop.connect()
        let raw = written(&loop)
        loop.request(calibrate)
        loop.turn(after: 1_000_000)
        #expect(loop.replies.last?.outcome == .calibrated(calibration))
        #expect(loop.stored == SensorCalibration(calibration: calibration, sensors: sensors))
        loop.turn(after: 1_000_000)
        #expect(loop.presences.last?.calibration == calibration)
        let calibrated = written(&loop)
        loop.request(#"{"id":"u","calibrate":null}"#)
        loop.turn(after: 1_000_000)
        #expect(loop.replies.last?.outcome == .calibrated(nil) && loop.stored == nil)
        loop.turn(after: 1_000_000)
        #expect(loop.presences.last.map { $0.calibration == nil } == true)
        let after = written(&loop)
        #expect(raw == [.accelerometer: [1.2, 0.3, -0.5], .gyroscope: [1.2, 0.3, -0.5]] && after == raw)
        #expect(calibrated == [.accelerometer: [1.1, 0.3, -0.5], .gyroscope: [1.2, 0.2, -0.5]])
    }

    @Test("a stored calibration applies from the start, but not to other sensors")
    func restart() {
        var same = makeLoop(stored: SensorCalibration(calibration: calibration, sensors: sensors))
        #expect(written(&same)[.accelerometer] == [1.1, 0.3, -0.5])
        var other = makeLoop(stored: SensorCalibration(calibration: calibration, sensors: "accelerometer: bmi160"))
        other.connect()
        #expect(written(&other)[.accelerometer] == [1.2, 0.3, -0.5] && other.presences.last?.calibration == nil)
    }

    @Test("a sensor has one name before and after its rights are set, and another one with another mount matrix")
    func sensorNames() {
        func name(_ problem: String? = nil, mount: [[Double]]? = nil) -> String? {
            AgentState.motionSensors(of: [
                DescribedSource(
                    description: SensorDescription(
                        name: "accel_3d", stream: .accelerometer, mountMatrix: mount, problem: problem))
            ])
        }
        #expect(name() == "accelerometer: iio accel_3d" && name("no access") == name())
        #expect(name(mount: [[0, 1, 0], [1, 0, 0], [0, 0, -1]]) != name())
    }

    @Test("a request that changes nothing does not restart what is derived", arguments: [false, true])
    func unchanged(_ isCalibrated: Bool) {
        var loop = makeLoop()
        loop.connect()
        if isCalibrated {
            loop.request(calibrate)
            loop.turn()
        }
        for id in ["a", "b"] {
            // One second at rest on its face, which has one orientation.
            for _ in 0..<50 {
                loop.boot += 20_000
                let samples = SampleBlock(
                    stream: .accelerometer, times: [start + loop.boot], columns: [[0], [0], [-1]])
                loop.send(.item(.samples(samples, .own)))
            }
            let again = calibrate.replacing(#""id":"c""#, with: #""id":"\#(id)""#)
            loop.request(isCalibrated ? again : #"{"id":"\#(id)","calibrate":null}"#)
            loop.turn(after: 20_000)
        }
        loop.request(#"{"flush":true}"#)
        loop.turn(after: 20_000)
        let orientations = loop.written.filter { $0.stream == .orientation }.map(\.count).reduce(0, +)
        #expect(orientations == 1)
    }

    @Test("a calibration that cannot be stored is not applied, and one without a single accelerometer is refused")
    func refused() {
        var loop = makeLoop()
        loop.calibrationError = outboxError
        loop.request(calibrate)
        loop.turn()
        guard case .failed(let reason) = loop.replies.last?.outcome else {
            Issue.record("\(loop.replies)")
            return
        }
        #expect(reason.hasPrefix("the outbox cannot be written") && loop.state.presence.calibration == nil)
        for var loop in [makeLoop(streams: [.gyroscope]), makeLoop(sources: 2)] {
            loop.request(calibrate)
            loop.turn()
            #expect(
                loop.replies.last?.outcome == .failed("this agent has no accelerometer, or several of them"))
        }
    }

    @Test("the outbox keeps the calibration over restarts until it is removed", .temporaryFolder)
    func outbox() throws {
        let stored = SensorCalibration(calibration: calibration, sensors: sensors)
        do {
            let outbox = try openOutbox()
            #expect(outbox.calibration() == nil)
            try outbox.store(stored)
        }
        do {
            let outbox = try openOutbox()
            #expect(outbox.calibration() == stored)
            try outbox.store(nil)
        }
        #expect(try openOutbox().calibration() == nil)
    }
}
