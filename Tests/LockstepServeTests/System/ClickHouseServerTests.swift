import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "lockstep-serve with a ClickHouse store",
    .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct ClickHouseServerTests {
    private static let start: Int64 = 1_700_000_000_000_000

    @Test("each answer is the same as with an SQLite store, and a database that is away is a problem")
    func answers() async throws {
        try await withSystem { system in
            try await withClickHouse { database in
                _ = try SQLiteStore(path: system.storePath).write(Self.group())
                try database.write(Self.group())
                let file = try await TestServer(system)
                let server = try await TestServer(system, store: database.url())
                try await expectEventually("ready") {
                    let answers = [try await file.get("/readyz"), try await server.get("/readyz")]
                    return answers.map(\.status) == [200, 200]
                }
                let range = "from=\(Self.start)&to=\(Self.start + 10_000_000)"
                let stream = "/api/v1/devices/lab/left/streams/motion/accelerometer?\(range)"
                let paths = [
                    stream, stream + "&limit=7", stream + "&format=csv", stream + "&every=1s", stream + "&points=9",
                    stream + "&points=5000", stream + "&time=collector",
                    "/api/v1/devices/lab/left/streams/location?\(range)&points=6",
                    "/api/v1/devices/lab/left/streams/steps?\(range)",
                    "/api/v1/devices/lab/left/states", "/api/v1/devices/lab/left/walk?\(range)",
                    "/api/v1/devices/lab/none/states", "/api/v1/events", "/api/v1/events/count?severity=info",
                    "/api/v1/rules/test?corners=1,1&radius=1000000&when=enter&\(range)",
                ]
                for path in paths {
                    let (expected, answer) = (try await file.get(path), try await server.get(path))
                    #expect(answer.status == expected.status && answer.body == expected.body, "\(path)")
                    #expect(expected.status == (path.contains("none") ? 404 : 200), "\(path): \(expected.body)")
                }
                let health = try await server.get("/api/v1/devices/lab/left/health").json
                #expect(health["conflicts"] as? Int == 1 && (health["recent_conflicts"] as? [Any])?.count == 1)
                await database.stop(SIGKILL)
                let away = try await server.get(stream)
                #expect(away.status == 503 && away.detail.contains("does not answer"), "\(away)")
                #expect(away.headers["content-type"] == "application/problem+json")
                try await database.start()
                try await expectEventually("the database is back") { try await server.get(stream).status == 200 }
            }
        }
    }

    private static func group() -> IngestGroup {
        let left = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))
        func batch(_ stream: SensorStream, _ times: [Int64], _ value: Double) -> ReceivedBatch {
            let block = SampleBlock.patterned(stream, start: start, times, from: value, period: 13)
            return ReceivedBatch(
                device: left, batch: Batch(position: nil, samples: block),
                receivedAt: Timestamp(microseconds: start + 20_000_000))
        }
        let times = (0..<900).map { Int64($0) * 10_000 }
        var group = IngestGroup(
            batches: [
                batch(.accelerometer, times, 0.5), batch(.accelerometer, [70_000], 9), batch(.location, times, 46),
                batch(.steps, [1_000_000, 3_000_000, 4_000_000], 1),
            ])
        let active = LifecycleTransition(
            from: nil, to: .active, since: Timestamp(microseconds: start), reason: "start", seq: 1)
        group.transitions = [DeviceTransition(device: left, transition: active)]
        group.lifecycles = [left: LifecycleSnapshot(last: active)]
        let point = ClockPoint(
            collector: CollectorID(unchecked: "main"), time: Timestamp(microseconds: start),
            segment: Timestamp(microseconds: start), offset: 500, skew: 12_500, bound: 150, skewBound: 0)
        group.clocks = [DeviceClock(device: left, epoch: Epoch(unchecked: "e1"), point: point)]
        return group
    }
}
