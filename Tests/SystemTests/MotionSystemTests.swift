import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Derived streams, from sensor to store")
struct MotionSystemTests {
    @Test("device motion, steps and orientation of an agent with motion sensors are stored")
    func derived() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            let agent = try system.startAgent("walker", ["--rate", "motion/device=20", "--frame", "arbitrary"])
            let reader = try await system.reader()
            func rows(of stream: SensorStream) throws -> [SampleRow] {
                var rows: [SampleRow] = []
                try reader.query(stream: stream) { rows.append($0) }
                return rows
            }
            try await expectEventually("\(agent.text)") {
                // Samples from before the connection arrive later than live ones, so wait until the rows are gapless.
                let motion = try rows(of: .deviceMotion)
                // The first sample is at the start of the sensors, which may be off the grid of the rate.
                return try motion.count >= 60
                    && zip(motion.dropFirst(2), motion.dropFirst()).allSatisfy { $0.time - $1.time == 50_000 }
                    && rows(of: .orientation).count >= 1 && rows(of: .steps).count >= 1
            }
            for row in try rows(of: .deviceMotion) {
                let squares = row.values.map { $0 * $0 }
                #expect(abs(squares[0..<4].reduce(0, +) - 1) < 1e-3 && abs(squares[4..<7].reduce(0, +) - 1) < 1e-2)
                #expect(row.values[10].isFinite && row.values[13].isFinite && row.values[17] == 0)
            }
        }
    }

    @Test("an invalid frame, declination or step length is refused with the valid values")
    func refused() async throws {
        for (arguments, text) in [
            (["--frame", "moon"], "'moon' is not one of arbitrary, arbitraryCorrected, magneticNorth, trueNorth"),
            (["--declination", "400"], "'400' is not an angle: use degrees from -180 to 180"),
            (["--step-length", "72"], "'72' is not a length from 0.1 to 3.0 m"),
        ] {
            let run = try await RunningProgram.run(
                Programs.built("lockstep-agent"), ["--source", "simulate", "--device", "x"] + arguments)
            #expect(run.status == 64 || run.status == 1)
            #expect(run.text.contains(text), "\(run.text)")
        }
    }
}
