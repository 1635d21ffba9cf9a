import LockstepModel
import LockstepMotion
import LockstepSensors
import Testing

@Suite("Simulated motions")
struct SimulatedMotionTests {
    /// Returns the samples of a stream in the first seconds, for each of some seeds.
    private func samples(
        of stream: SensorStream, _ motion: SimulatedMotion, seconds: Int64, seed: UInt64
    ) -> SampleBlock {
        var schedule = SimulationSchedule(body: WalkingBody(seed: seed, motion: motion), rate: 100, start: 0)
        var all = SampleBlock(stream: stream)
        for second in 1...seconds {
            for block in schedule.take(through: second * 1_000_000) where block.stream == stream {
                for index in block.times.indices {
                    all.append(time: Timestamp(microseconds: block.times[index]), values: block.values(at: index))
                }
            }
        }
        return all
    }

    @Test("a device that is shaken is detected in each period, and one that is carried is not", arguments: 1...5)
    func shake(seed: UInt64) {
        func count(_ motion: SimulatedMotion) -> Int {
            let block = samples(of: .accelerometer, motion, seconds: 24, seed: seed)
            var detector = ShakeDetector()
            return block.times.indices.count { index in
                let values = block.values(at: index)
                return detector.update(time: block.times[index], x: values[0], y: values[1], z: values[2]) != nil
            }
        }
        #expect(count(.shake) == 3)
        #expect(count(.walk) == 0 && count(.drive) == 0 && count(.turn) == 0)
    }

    @Test("a fall is detected in each period", arguments: 1...5)
    func fall(seed: UInt64) {
        let block = samples(of: .accelerometer, .fall, seconds: 40, seed: seed)
        var detector = FallDetector()
        let impacts = block.times.indices.compactMap { index in
            let values = block.values(at: index)
            return detector.update(time: block.times[index], x: values[0], y: values[1], z: values[2])?.impact
        }
        #expect(impacts.map { $0 / 1_000_000 } == [8, 28])
    }

    @Test("turning goes through four orientations")
    func turn() {
        let block = samples(of: .accelerometer, .turn, seconds: 22, seed: 1)
        var detector = OrientationDetector()
        let found = detector.update(block).columns[0].compactMap { DeviceOrientation(streamValue: $0) }
        #expect(found.first == .portrait && Set(found).count == 4, "\(found)")
        #expect(Set(found) == [.portrait, .landscapeLeft, .landscapeRight, .portraitUpsideDown])
    }

    @Test("a car reaches its speed and waits, and its rotation is that of the circle")
    func drive() throws {
        let location = samples(of: .location, .drive, seconds: 120, seed: 1)
        let speed = try #require(SensorStream.location.columns.firstIndex { $0.name == "speed" })
        let speeds = location.columns[speed]
        #expect(abs((speeds.max() ?? 0) - 14) < 0.5 && (speeds.last ?? 1) < 0.3 && speeds[2] < 0.3)
        let body = WalkingBody(seed: 1, motion: .drive)
        let rate = body.rotationRate(at: 60)
        #expect(abs((rate * rate).sum().squareRoot() - 14.0 / 150) < 0.001)
        // There is no jump from one period to the next.
        for time in [119.999, 120.001] {
            #expect((body.acceleration(at: time) * body.acceleration(at: time)).sum() < 0.01)
        }
    }
}
