import LockstepModel
import Testing

@Suite("The clock session")
struct ClockSessionTests {
    @Test("converges within 10 s with an error of at most half the asymmetry", arguments: [1000.0, 10_000, 50_000])
    func convergence(asymmetry: Double) throws {
        var errors: [Double] = []
        for seed in UInt64(0)..<20 {
            var path = SimulatedPath(seed: seed)
            path.deviceWall += 123_456_789
            path.drift = seed % 2 == 0 ? 100 : -100
            path.delay = (200 + asymmetry, 200)
            path.jitter = 300
            path.loss = 0.05
            var device = SimulatedDevice(path)
            device.run(seconds: 10)
            let (error, bound) = try #require(device.error())
            #expect(error <= bound)
            #expect(bound < asymmetry / 2 + 2000)
            errors.append(error)
        }
        #expect(median(errors) <= asymmetry / 2 + 100)
    }

    @Test("has an error of at most 0.2 ms on loopback, and few messages")
    func loopback() throws {
        var path = SimulatedPath(seed: 3)
        path.drift = 43
        path.collectorDrift = -20
        path.delay = (120, 120)
        path.jitter = 80
        var errors: [Double] = []
        var device = SimulatedDevice(path)
        device.run(seconds: 10)
        let first = device.probes
        device.run(seconds: 3600) { device in
            guard let (error, bound) = device.error() else { return }
            errors.append(error)
            #expect(error <= bound)
        }
        #expect(median(errors) <= 200)
        // Four requests every 30 s, and a few more during the first minutes.
        #expect(device.probes - first <= 3600 / 30 * 4 + 60)
    }

    @Test("keeps its bound while the frequency changes with the temperature")
    func temperature() {
        var path = SimulatedPath(seed: 4)
        path.wander = (10, 1500)
        var device = SimulatedDevice(path)
        device.run(seconds: 7200) { device in
            guard let (error, bound) = device.error() else { return }
            #expect(error <= bound)
        }
        #expect(Set(device.points.map(\.segment)).count == 1)
    }

    @Test("starts a new segment when the device's clock is stepped, without losing accuracy")
    func stepOfDevice() throws {
        var device = SimulatedDevice(SimulatedPath(seed: 5))
        device.run(seconds: 120)
        let before = try #require(device.error())
        device.path.deviceWall += 7_000_000
        device.run(seconds: 35)
        let after = try #require(device.error())
        #expect(after.error <= after.bound)
        #expect(after.bound < before.bound + 300)
        #expect(Set(device.points.map(\.segment)).count == 2)
    }

    @Test("starts a new segment when the collector's clock is stepped")
    func stepOfCollector() throws {
        var device = SimulatedDevice(SimulatedPath(seed: 6))
        device.run(seconds: 120)
        device.path.collectorWall -= 3_000_000
        device.run(seconds: 35)
        let (error, bound) = try #require(device.error())
        #expect(error <= bound)
        #expect(Set(device.points.map(\.segment)).count == 2)
    }

    @Test("follows a slew of the device's wall clock between waves")
    func slew() throws {
        var device = SimulatedDevice(SimulatedPath(seed: 7))
        device.run(seconds: 130)
        let count = device.points.count
        for _ in 0..<20 {
            device.path.deviceWall += 500
            device.run(seconds: 1)
            let (error, bound) = try #require(device.error())
            #expect(error <= bound + 500)
        }
        #expect(device.points.count >= count + 2)
        // Both ends of the slew have an estimate, so the line between two estimates is close to the truth.
        device.run(seconds: 60)
        let (error, bound) = try #require(device.error())
        #expect(error <= bound)
        #expect(Set(device.points.map(\.segment)).count == 1)
    }

    @Test("starts again after a suspend and after a restart of the collector's machine")
    func interruptions() throws {
        var device = SimulatedDevice(SimulatedPath(seed: 8))
        device.run(seconds: 60)
        device.path.suspended += 90_000_000
        device.run(seconds: 35)
        #expect(try #require(device.error()).error <= #require(device.error()).bound)
        #expect(Set(device.points.map(\.segment)).count == 2)
        device.path.boot = "ca11ab1e"
        device.path.collectorWall += 12_345
        device.run(seconds: 35)
        #expect(try #require(device.error()).error <= #require(device.error()).bound)
        #expect(Set(device.points.map(\.segment)).count == 3)
    }

    @Test("asks rarely while no collector answers, and quickly again after a connect")
    func silence() {
        var path = SimulatedPath(seed: 9)
        path.loss = 1
        var device = SimulatedDevice(path)
        device.run(seconds: 3600)
        #expect(device.probes < 90)
        #expect(device.points.isEmpty)
        device.session.didDisconnect()
        #expect(device.session.nextDeadline == nil)
        device.path.loss = 0
        device.session.didConnect(at: device.path.reading(device.time))
        device.run(seconds: 5)
        #expect(device.points.count >= 3)
    }

    @Test("compares its clock with several collectors at once")
    func collectors() throws {
        var session = ClockSession()
        var paths = [SimulatedPath(seed: 10), SimulatedPath(seed: 11)]
        paths[1].collector = CollectorID(unchecked: "second")
        paths[1].collectorWall += 40_000
        session.didConnect(at: paths[0].reading(0))
        let request = session.nextPing(at: paths[0].reading(0))
        let ping = try #require(request)
        for path in paths {
            session.receive(
                path.pong(ping.number, (300, 310, 600)), at: path.reading(600), lineOffset: path.deviceWall)
        }
        // The rest of the wave is lost.
        var time = 0.0
        while session.newest.isEmpty, time < 5e6 {
            time += 10_000
            _ = session.nextPing(at: paths[0].reading(time))
            session.observe(paths[0].reading(time), lineOffset: paths[0].deviceWall, discipline: nil)
        }
        #expect(session.newest.map(\.collector.rawValue) == ["main", "second"])
        for (point, path) in zip(session.newest, paths) {
            #expect(abs(Double(point.offset) - path.offset(600)) <= Double(point.bound))
        }
    }

    @Test("uses the errors that both daemons state if they are narrower, and ignores a contradiction")
    func discipline() throws {
        for (stated, isUsed) in [(Int64(100), true), (1_000_000, false)] {
            var path = SimulatedPath(seed: 12)
            path.delay = (9000, 200)
            var session = ClockSession()
            // Both wall clocks are right, so both oscillators differ by the difference of their start.
            path.collectorWall = path.deviceWall + 5_000_000 - 77_000_000
            session.didConnect(at: path.reading(0))
            for wave in 0..<2 {
                let time = Double(wave) * 2_000_000
                while let ping = nextPing(&session, path, from: time) {
                    var pong = path.pong(ping.ping.number, (ping.time + 9000, ping.time + 9010, ping.time + 9300))
                    pong.maxError = stated
                    session.receive(pong, at: path.reading(ping.time + 9300), lineOffset: path.deviceWall)
                }
                session.observe(
                    path.reading(time + 900_000), lineOffset: path.deviceWall,
                    discipline: KernelDiscipline(isSynchronised: true, maxError: stated))
            }
            let point = try #require(session.newest.first)
            #expect(abs(Double(point.offset)) <= Double(point.bound))
            #expect((point.bound < 300) == isUsed)
        }
    }

    private func nextPing(
        _ session: inout ClockSession, _ path: SimulatedPath, from start: Double
    ) -> (ping: ClockPing, time: Double)? {
        for step in 0..<40 {
            let time = start + Double(step) * 20_000
            if let ping = session.nextPing(at: path.reading(time)) { return (ping, time) }
        }
        return nil
    }
}
