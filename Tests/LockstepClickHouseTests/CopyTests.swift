import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Target of a copy", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct CopyTests {
    @Test("an hour has the same number and hash in both stores, also before 1970, and a difference is found")
    func summaries() async throws {
        try await withClickHouse { server in
            let target = try CopyTarget(
                try ClickHouseAddress(server.url()), survivesPowerLoss: false, quorum: nil, catalog: .builtIn)
            let hour = HourSummary.length
            var expected: [Int64: HourSummary] = [:]
            for number in [-2, -1, 0, 5, 400_000] as [Int64] {
                let block = block([number * hour, number * hour + 17, (number + 1) * hour - 1])
                try target.insert(block, of: device)
                try target.insert(block, of: device)
                expected[number, default: HourSummary()].add(block)
                #expect(block.times.allSatisfy { HourSummary.hour(of: $0) == number })
            }
            #expect(try target.hours(of: device, .accelerometer) == expected)
            var other = HourSummary()
            other.add(block([0, 18, hour - 1]))
            #expect(other != expected[0])
            other = HourSummary()
            other.add(block([0, 17, hour - 1], z: 0))
            #expect(other != expected[0])
        }
    }

    @Test("a copy replaces an earlier one, also without a new message, but never what a collector has written later")
    func versions() {
        let versions = CopyVersions(stored: [1: 5_000_000, 2: 5_000_003, 3: 4_999_999, 4: 7_000_000, 5: 1 << 60])
        #expect(
            (0...5).map { versions.version(of: $0, at: 5_000_000) } == [5_000_000, 5_000_001, 5_000_004] + [
                5_000_000, 5_000_000, 5_000_000,
            ])
    }

    private func block(_ times: [Int64], z: Double = -1) -> SampleBlock {
        var block = SampleBlock(stream: .accelerometer)
        for time in times { block.append(time: Timestamp(microseconds: time), values: [0.1, -0.0, z]) }
        return block
    }
}

private let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))
