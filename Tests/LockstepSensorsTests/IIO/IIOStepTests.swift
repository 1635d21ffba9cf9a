import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

@Suite("IIO step counters")
struct IIOStepTests {
    @Test("steps are counted from the first reading, and no steps are lost when the counter is reset")
    func steps() async throws {
        try await withFakeIIO { fake in
            try fake.add("iio:device0", ["name": "bmi160", "in_steps_input": "1000", "in_steps_en": "0"])
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { $0.statuses.count >= 2 })
                #expect(fake.text("iio:device0", "in_steps_en") == "1")
                try fake.set("iio:device0", "in_steps_input", "1004")
                #expect(await sink.wait { $0.samples(.steps).count == 1 })
                try fake.set("iio:device0", "in_steps_input", "3")
                #expect(await sink.wait { $0.samples(.steps).count == 2 })
                let rows = sink.seen.samples(.steps)
                #expect(rows.columns[1] == [4, 3])
                #expect(rows.columns[0][1] >= Double(rows.times[0]))
                #expect(rows.times[1] > rows.times[0] && rows.columns[3].allSatisfy(\.isNaN))
            }
            #expect(fake.text("iio:device0", "in_steps_en") == "0")
        }
    }

    /// Returns the steps of successive counts, `interval` µs apart, and checks that nobody makes more than five steps a
    /// second.
    private func steps(_ counts: [Int64], every interval: Int64 = 1_000_000) -> (steps: [Int], deltas: StepDeltas) {
        var deltas = StepDeltas()
        var steps: [Int] = []
        var end = Int64.min
        for (index, count) in counts.enumerated() {
            guard let block = deltas.update(count: count, at: Int64(index + 1) * interval) else { continue }
            let (start, number) = (Int64(block.columns[0][0]), block.columns[1][0])
            #expect(start >= end && Double(block.times[0] - start) / 1e6 * 5 >= number)
            end = block.times[0]
            steps.append(Int(number))
        }
        return (steps, deltas)
    }

    @Test(
        "a change of the counter that nobody can walk is no steps, and the next count is the new baseline",
        arguments: [
            // A jump and a step back by one.
            ([7, 2007, 2006, 2009], [3]), ([100, 536_871_012, 536_871_013], [1]),
            // The counter returns to where it was, and the steps meanwhile are not lost.
            ([1000, 536_871_912, 1003, 1005], [3, 2]), ([1000, 0, 1003], [3]),
            // A step back by one with a small count is no restart.
            ([7, 6, 8], [2]), ([2, 1, 2], [1]),
            // A counter of 16 or 32 bits wraps, and one starts again.
            ([65_533, 1], [4]), ([4_294_967_290, 3], [9]), ([1004, 3, 5], [3, 2]), ([9000, 900, 902], [2]),
            // A counter may report the first steps of a walk together.
            ([50, 50, 50, 50, 60, 62], [10, 2]),
        ] as [([Int64], [Int])])
    func implausible(counts: [Int64], expected: [Int]) {
        // 9 steps in the wrap of 32 bits need two seconds.
        #expect(steps(counts, every: counts[0] > 1 << 31 ? 2_000_000 : 1_000_000).steps == expected)
    }

    @Test("an implausible change is reported in the status")
    func reported() async throws {
        try await withFakeIIO { fake in
            try fake.add("iio:device0", ["name": "bma400", "in_steps_input": "7"])
            try await withRunning(fake.source) { sink in
                #expect(await sink.wait { $0.statuses.count >= 2 })
                try fake.set("iio:device0", "in_steps_input", "2007")
                #expect(
                    await sink.wait {
                        $0.statuses.last
                            == .degraded(
                                "iio:device0 (bma400): the step counter went from 7 to 2007, which nobody can walk in that "
                                    + "time: not counted (1 time)")
                    })
                #expect(sink.seen.samples(.steps).isEmpty)
            }
        }
    }

    @Test("an invalid reading does not count as steps")
    func wrongSteps() async throws {
        try await withFakeIIO { fake in
            try fake.add("iio:device0", ["name": "bmi160", "in_steps_input": "-5", "in_steps_en": "0"])
            try await withRunning(fake.source) { sink in
                // Only readings after this invalid one are counted.
                try await fake.wait("iio:device0", "in_steps_en", for: "1")
                try await fake.waitForReading("iio:device0", "in_steps_input")
                try fake.set("iio:device0", "in_steps_input", "9000")
                #expect(await sink.wait { $0.statuses.count >= 2 })
                // The status is reported after the valid count has become the baseline.
                try fake.set("iio:device0", "in_steps_input", "9004")
                #expect(await sink.wait { !$0.samples(.steps).isEmpty })
                #expect(sink.seen.samples(.steps).columns[1] == [4])
            }
        }
    }
}
