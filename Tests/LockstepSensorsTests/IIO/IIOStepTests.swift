import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

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
