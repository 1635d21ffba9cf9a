import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("lockstep align")
struct AlignTests {
    private static let start: Int64 = 1_700_000_000_000_000

    /// Returns samples of a shaken device whose clock is `offset` µs ahead.
    private func samples(
        of stream: SensorStream = .accelerometer, rate: Double, seconds: Double, offset: Int64, strength: Double = 0.2
    ) -> SampleBlock {
        var block = SampleBlock(stream: stream)
        for index in 0..<Int(seconds * rate) {
            let time = Double(index) / rate
            let value = [1.1, 1.73, 2.39, 3.17, 4.71].reduce(0.0) { $0 + sin(2 * .pi * $1 * time * (1 + 0.003 * time)) }
            block.append(
                time: Timestamp(microseconds: Self.start + Int64((time * 1e6).rounded()) + offset),
                values: [0, 0, -1 + strength * value])
        }
        return block
    }

    private func withStore(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder + "/store.db"
            let batches = [
                received(samples(rate: 100, seconds: 30, offset: 0), "left", nil),
                received(samples(rate: 40, seconds: 30, offset: 1_234_567), "right", nil),
                received(samples(rate: 40, seconds: 30, offset: 0, strength: 0), "still", nil),
                received(samples(of: .gyroscope, rate: 40, seconds: 30, offset: 0), "left", nil),
                received(samples(rate: 100, seconds: 30, offset: 0), "left", nil, group: "lab"),
                received(samples(rate: 100, seconds: 30, offset: -Self.start), "unset", nil),
            ]
            try write(IngestGroup(batches: batches), to: path)
            try await body(path)
        }
    }

    @Test("the offset is printed with its bound, as text and as JSON")
    func offset() async throws {
        try await withStore { store in
            let text = try await lockstep(["align", "default/left", "right"], store)
            #expect(text.status == 0, "\(text.text)")
            #expect(text.text.hasPrefix("default/left is 1234.5"), "\(text.text)")
            #expect(text.text.contains(" ms behind default/right at 2023-11-14T22:13:"), "\(text.text)")
            let run = try await lockstep(["align", "default/left", "right", "--json"], store)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
            let found = try #require(object["offset_us"] as? Double)
            let bound = try #require(object["bound_us"] as? Double)
            #expect(abs(found + 1_234_567) <= bound && bound < 1000, "\(run.text)")
            #expect(object["first"] as? String == "default/left" && object["second"] as? String == "default/right")
            #expect(object["stream"] as? String == "motion/accelerometer")
            #expect((object["correlation"] as? Double ?? 0) > 0.99)
            // Estimates of the clocks are not in this store.
            #expect(object["clock_disagreement_us"] == nil)
        }
    }

    @Test("the clock of a device that was never set is found with --near")
    func near() async throws {
        try await withStore { store in
            let run = try await lockstep(
                ["align", "default/left", "unset", "--near", "1700000001", "--max-offset", "5s", "--json"], store)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
            let found = try #require(object["offset_us"] as? Double)
            #expect(abs(found - Double(Self.start)) < 200, "\(run.text)")
        }
    }

    @Test("the offset is compared with the clock estimates of the store")
    func clocks() async throws {
        try await withStore { store in
            var group = IngestGroup()
            for (device, offset) in [("left", 0 as Int64), ("right", 1_234_000)] {
                for second in [0 as Int64, 30] {
                    let time = Timestamp(microseconds: Self.start + second * 1_000_000 + offset)
                    let point = ClockPoint(
                        collector: CollectorID(unchecked: "main"), time: time,
                        segment: Timestamp(microseconds: Self.start + offset), offset: offset, skew: 0, bound: 100,
                        skewBound: 0)
                    let address = DeviceAddress(group: .standard, device: DeviceID(unchecked: device))
                    group.clocks.append(DeviceClock(device: address, epoch: Epoch(unchecked: "e1"), point: point))
                }
            }
            try write(group, to: store)
            let run = try await lockstep(["align", "default/left", "right", "--json"], store)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(run.text.utf8)) as? [String: Any])
            let found = try #require(object["offset_us"] as? Double)
            let disagreement = try #require(object["clock_disagreement_us"] as? Double)
            #expect(abs(disagreement - (found + 1_234_000)) < 2, "\(run.text)")
            let text = try await lockstep(["align", "default/left", "right"], store)
            #expect(text.text.contains("\nthe clock estimates of the store differ by 0.5"), "\(text.text)")
        }
    }

    @Test("what prevents an alignment is reported with advice")
    func refusals() async throws {
        try await withStore { store in
            let cases: [([String], String)] = [
                (["left", "right"], "several groups have a device 'left': use default/left or lab/left"),
                (["default/left", "default/left"], "default/left is given twice"),
                (["default/left", "nobody"], "no device 'nobody' in the store"),
                (["default/left", "still"], "default/still was hardly moved"),
                (
                    ["default/left", "right", "--to", "\(Self.start + 3_000_000)"],
                    "record at least 5 s of common motion"
                ),
                (["default/left", "right", "--max-offset", "1s"], "the devices were not moved together"),
                (["default/left", "unset"], "raise --max-offset"),
                (["default/left", "right", "--stream", "gyroscope"], "no samples of 'motion/gyroscope' are stored"),
                (["default/left", "right", "--stream", "steps"], "use accelerometer or gyroscope"),
                (["default/left", "right", "--max-offset", "2h"], "--max-offset must be from 100ms to 10m"),
                (["default/left", "right", "--from", "5", "--to", "4"], "is not before --to"),
                (["default/left", "right", "--to", "5"], "in this time range; stored are those from 2023-11-14"),
            ]
            for (arguments, text) in cases {
                let run = try await lockstep(["align"] + arguments, store)
                #expect(run.status != 0 && run.text.contains(text), "\(arguments): \(run.text)")
            }
        }
    }
}
