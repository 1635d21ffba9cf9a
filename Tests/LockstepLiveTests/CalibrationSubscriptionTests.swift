import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Subscriptions to a guided calibration")
struct CalibrationSubscriptionTests {
    private static let positions: [SIMD3<Double>] = [
        SIMD3(0, 0, -1), SIMD3(0, 0, 1), SIMD3(0, -1, 0), SIMD3(0, 1, 0), SIMD3(-1, 0, 0), SIMD3(1, 0, 0),
        SIMD3(0.8, 0.6, 0), SIMD3(-0.6, 0, 0.8), SIMD3(0, -0.8, -0.6),
    ]
    private static let calibration = InertialCalibration(
        time: Timestamp(microseconds: 1), matrix: InertialCalibration.identity, offset: .zero, positions: 9,
        errorBefore: 0.02, errorAfter: 0.001)

    private let picture = LivePicture(root: .standard)
    private let arm = device("arm")

    private func subscribe(
        replaced: InertialCalibration? = nil, at seconds: Double = 0
    ) throws -> LiveSubscription? {
        try picture.subscribeToCalibration(of: arm, hasGyroscope: false, replaced: replaced, at: moment(seconds))
    }

    /// Receives a second of samples of a sensor that reads 3 % too much.
    private func receive(_ gravity: SIMD3<Double>, at second: Int, isLive: Bool = true) {
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<50 {
            block.append(
                time: moment(Double(second) + Double(index) / 50).wall,
                values: [gravity.x * 1.03, gravity.y * 1.03, gravity.z * 1.03])
        }
        picture.handle(.samples(block, of: arm, isLive: isLive), at: Double(second + 1))
    }

    @Test("have a step for each position, and end with the calibration")
    func wholeRun() throws {
        let subscription = try #require(try subscribe())
        let first = subscription.waiting()
        #expect(first.map(\.name) == ["step"] && first[0].data.contains(#""next":"1 of 9: lay it flat"#))
        var received: [Event] = []
        for second in 0..<27 {
            receive(Self.positions[second / 3], at: second)
            // Backlog does not show where the device is now.
            receive(SIMD3(1, 1, 1), at: second, isLive: false)
            received += subscription.waiting()
        }
        let steps = received.filter { $0.name == "step" }
        // One when it comes to rest, and one when it is moved; no second one for the same state.
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0 != $1 } && steps.count <= 18, "\(steps)")
        #expect(steps[0].data.contains(#""still":true,"note":"found faceUp: |a| is 1.03 g"#), "\(steps)")
        let result = try #require(received.last)
        #expect(result.name == "result" && subscription.subscriber.hasEnded)
        let calibration = try CalibrationJSON.decode(Data(result.data.utf8))
        #expect(abs(calibration.matrix[0].x - 1 / 1.03) < 0.001 && calibration.time == moment(27).wall)
        // Somebody else may begin.
        #expect(try subscribe() != nil)
    }

    @Test("exist once for each device")
    func exclusion() throws {
        let subscription = try #require(try subscribe())
        #expect(try subscribe() == nil)
        #expect(try picture.subscribeToCalibration(of: device("leg"), hasGyroscope: false, replaced: nil) != nil)
        subscription.cancel()
        #expect(try subscribe() != nil)
    }

    @Test("end when nobody holds them, although their end is awaited")
    func release() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        func start() throws { try #require(try subscribe()).afterEnd { end.finish() } }
        try start()
        #expect(try subscribe() != nil)
        for await _ in ends {}
    }

    @Test("end if the calibration of the device is changed, but not with a last will, which has none")
    func change() throws {
        // Older than what the agent has described.
        picture.handle(.presence(.foreground, of: arm), at: 0)
        let subscription = try #require(try subscribe(replaced: Self.calibration))
        receive(SIMD3(0, 0, -1), at: 0)
        picture.handle(.presence(.foreground, of: arm, calibration: Self.calibration), at: 1)
        picture.handle(.presence(.lost, of: arm), at: 1)
        receive(SIMD3(0, 0, -1), at: 1)
        #expect(!subscription.subscriber.hasEnded)
        picture.handle(.presence(.foreground, of: arm), at: 2)
        #expect(subscription.waiting().last?.data.contains("was changed meanwhile") == true)
        #expect(try subscribe() != nil)
    }

    @Test("end if the readings are impossible, if no samples arrive, and if the device is not moved")
    func problems() throws {
        let broken = try #require(try subscribe())
        for second in 0..<3 { receive(SIMD3(0, 0, -9.8), at: second) }
        #expect(broken.waiting().last?.data.contains("the accelerometer reads 10.094 g") == true)
        let silent = try #require(try subscribe(at: 3))
        _ = picture.advance(to: moment(22))
        #expect(!silent.subscriber.hasEnded)
        _ = picture.advance(to: moment(24))
        #expect(silent.waiting().last?.data.contains("no samples for 20 s") == true)
        let patient = try #require(try subscribe(at: 30))
        var received: [Event] = []
        for second in 30..<215 {
            receive(SIMD3(0, 0, -1), at: second)
            received += patient.waiting()
        }
        #expect(received.last?.data.contains("not laid in a new position in time") == true)
        let cut = try #require(try subscribe(at: 300))
        _ = picture.advance(to: moment(479), connectionProblem: "no broker")
        #expect(!cut.subscriber.hasEnded)
        _ = picture.advance(to: moment(480), connectionProblem: "no broker")
        #expect(cut.waiting().last?.data == #"{"reason":"no broker"}"#)
        #expect(picture.statistics.subscribers == 0)
    }
}
