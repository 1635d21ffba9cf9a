import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("First sample of a range")
struct FirstTimeTests {
    @Test("the next sample is found after gaps of any length, and none outside of the range")
    func gaps() async throws {
        try await withTemporaryFolder { folder in
            let hour: Int64 = 3_600_000_000
            let times = [0, 1, 59_999_999, 60_000_000, 5 * hour, 3000 * hour].map { 1_700_000_000_000_000 + $0 }
            let path = folder + "/store.db"
            try write(IngestGroup(batches: [received(block(times, x: times.map { _ in 0 }), "left", nil)]), to: path)
            let reader = try StoreReader(path: path)
            let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
            func first(_ from: Int64?, _ to: Int64? = nil) throws -> Int64? {
                try reader.firstTime(
                    of: .accelerometer, left, from: from.map(Timestamp.init(microseconds:)),
                    to: to.map(Timestamp.init(microseconds:)))?.microseconds
            }
            for (earlier, later) in zip(times, times.dropFirst()) {
                #expect(try first(earlier) == earlier)
                #expect(try first(earlier + 1) == later)
                #expect(try first(earlier + 1, later + 1) == later)
                #expect(try first(earlier + 1, later) == nil)
            }
            #expect(try first(nil) == times[0] && first(.min) == times[0])
            #expect(try first(times[5] + 1) == nil && first(.max) == nil)
        }
    }
}
