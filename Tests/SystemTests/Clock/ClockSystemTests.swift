import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "The clock of a running agent",
    .enabled("mosquitto or clang is not installed") {
        guard Programs.isInstalled("mosquitto") else { return false }
        return await AdjustableClock.isAvailable
    })
struct ClockSystemTests {
    /// The largest difference between an agent's time line and its wall clock, in µs.
    private static let anchoring = 200.0

    @Test(
        "the estimate of a device with a wrong and drifting clock is within its bound of the truth",
        arguments: [(750_000, 100_000), (-3_600_000_000, -100_000)] as [(Int64, Int64)])
    func truth(offset: Int64, drift: Int64) async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let clock = try await DriftingClock(in: system.folder, offset: offset, drift: drift)
            let agent = try system.startAgent("walker", environment: clock.environment)
            let reader = try await system.reader()
            let device = try DeviceAddress(group: .standard, device: DeviceID(validating: "walker"))
            // The estimate converges within 10 s of the connect.
            try await expectEventually("\(agent.text)", within: .seconds(60)) {
                try reader.clockPoints(of: device).count >= 5
            }
            let points = try reader.clockPoints(of: device)
            #expect(Set(points.map(\.segment)).count == 1)
            let (status, text) = try await RunningProgram.run(
                Programs.built("lockstep"), ["clock", "--store", "sqlite:\(system.storePath)", "--json"])
            let truth = clock.truth()
            #expect(status == 0, "\(text)")
            let line = try JSONDecoder().decode(ClockLine.self, from: Data(text.utf8))
            #expect(line.device == "walker" && line.group == "default" && line.collector == "main")
            // The command read the clock a moment before the truth.
            #expect(abs(line.offset - truth) <= line.bound + Self.anchoring, "\(text) \(truth)")
            #expect(line.bound < 100_000 && line.age < 60)
            let last = try #require(points.last)
            #expect(abs(Double(last.skew - drift)) <= Double(last.skewBound))

            await agent.stop()
            try await expectCollectorTime(system, clock)
        }
    }

    /// Checks the rows of `lockstep query --time collector`.
    private func expectCollectorTime(
        _ system: TestSystem, _ clock: DriftingClock
    ) async throws {
        func rows(_ arguments: [String]) async throws -> [[String]] {
            let (status, text) = try await RunningProgram.run(
                Programs.built("lockstep"),
                ["query", "accelerometer", "--csv", "--store", "sqlite:\(system.storePath)"] + arguments)
            #expect(status == 0, "\(text)")
            return text.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
        }
        let own = try await rows([])
        let shared = try await rows(["--time", "collector"])
        #expect(shared.first?.last == "bound_us")
        try #require(own.count == shared.count && own.count > 100)
        var previous: Int64 = 0
        for (one, other) in zip(own, shared).dropFirst() {
            let time = try #require(Int64(one[3]))
            let converted = try #require(Int64(other[3]))
            let bound = try #require(other.last.flatMap(Double.init))
            #expect(converted > previous)
            previous = converted
            // The offset changes by at most 0.1 µs per ms, so the truth at the converted time is close enough.
            let now = DriftingClock.raw()
            let age = Double(Moment.now().wall.microseconds - converted) * 1000
            let truth = clock.truth(at: now - Int64(age))
            #expect(abs(Double(time - converted) - truth) <= bound + Self.anchoring)
        }
    }

    @Test("a restart of the collector does not interrupt the estimate")
    func restart() async throws {
        try await withSystem { system in
            let first = try system.startCollector()
            try await system.waitForSubscription()
            let agent = try system.startAgent("walker")
            let reader = try await system.reader()
            let device = try DeviceAddress(group: .standard, device: DeviceID(validating: "walker"))
            try await expectEventually("\(agent.text)", within: .seconds(60)) {
                try reader.clockPoints(of: device).count >= 3
            }
            await first.stop(SIGKILL)
            let count = try reader.clockPoints(of: device).count
            let second = try system.startCollector()
            try await expectEventually("\(agent.text)\(second.text)", within: .seconds(120)) {
                try reader.clockPoints(of: device).count >= count + 2
            }
            #expect(try Set(reader.clockPoints(of: device).map(\.segment)).count == 1)
        }
    }

    @Test("a step of the device's clock starts a new segment, and the estimate remains true")
    func step() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let clock = try await AdjustableClock(in: system.folder)
            let agent = try system.startAgent("walker", environment: clock.environment)
            let reader = try await system.reader()
            let device = try DeviceAddress(group: .standard, device: DeviceID(validating: "walker"))
            try await expectEventually("\(agent.text)", within: .seconds(60)) {
                try reader.clockPoints(of: device).count >= 3
            }
            try clock.set(wall: 7200)
            try await expectEventually("\(agent.text)", within: .seconds(120)) {
                try Set(reader.clockPoints(of: device).map(\.segment)).count == 2
            }
            let last = try #require(try reader.newestClocks().first?.point)
            #expect(abs(Double(last.offset - 7_200_000_000)) <= Double(last.bound) + Self.anchoring)
        }
    }

    @Test("an agent compares its clock with each of two collectors, and each stores its own comparison")
    func twoCollectors() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let other = system.folder + "/other.db"
            let second = try system.start(
                "lockstep-collector",
                ["--broker", system.broker.url, "--store", "sqlite:\(other)", "--id", "second"])
            #expect(await second.waitForOutput("connected to"))
            let agent = try system.startAgent("walker")
            try await expectEventually("\(agent.text)", within: .seconds(60)) {
                for (path, id) in [(system.storePath, "main"), (other, "second")] {
                    let clocks = try StoreReader(path: path).newestClocks()
                    guard clocks.map(\.point.collector.rawValue) == [id] else { return false }
                }
                return true
            }
        }
    }

    private struct ClockLine: Decodable {
        var group: String
        var device: String
        var collector: String
        var offset: Double
        var drift: Double
        var bound: Double
        var age: Double

        enum CodingKeys: String, CodingKey {
            case group, device, collector
            case offset = "offset_us"
            case drift = "drift_ppm"
            case bound = "bound_us"
            case age = "age_s"
        }
    }
}
