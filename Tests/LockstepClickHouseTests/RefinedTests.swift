import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite("Runs of refined data", .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct RefinedTests {
    @Test("rows are inserted together, and runs that are replaced entirely leave nothing")
    func replaced() async throws {
        try await withClickHouse { server in
            try server.write(refinedGroup())
            let address = try ClickHouseAddress(server.url())
            for number in 1...3 as ClosedRange<Int64> {
                let run = try steps(address, at: number)
                for time in 0..<3 as Range<Int64> { try run.write([step(at: time, number)]) }
                let pending = "SELECT count() FROM steps_refined_rows WHERE walk = \(number)"
                #expect(try await server.execute(pending) == ["0"])
                try run.complete(first: 0, last: 3)
                #expect(try await server.execute(pending) == ["3"])
                #expect(
                    try await server.execute("SELECT t, walk FROM steps_refined ORDER BY t")
                        == (0..<3).map { "\($0)\t\(number)" })
            }
            for table in ["refined_runs", "steps_refined_rows"] {
                try await expectEventually {
                    try await server.execute("SELECT uniqExact(run_id) FROM \(table)") == ["1"]
                }
            }
            // A run that covers only a part of another one leaves the rest of it.
            let part = try steps(address, at: 4)
            try part.write([step(at: 1, 4)])
            try part.complete(first: 1, last: 2)
            _ = try steps(address, at: 5)
            #expect(
                try await server.execute("SELECT t, walk FROM steps_refined ORDER BY t") == ["0\t3", "1\t4", "2\t3"])
        }
    }

    @Test(
        "a run waits while the server has too many parts to merge",
        .enabled(if: TestClickHouse.isServer, "clickhouse-server is not installed"))
    func tooManyParts() async throws {
        let settings = """
            <merge_tree>
                <parts_to_delay_insert>3</parts_to_delay_insert><parts_to_throw_insert>3</parts_to_throw_insert>
            </merge_tree>
            """
        try await withClickHouse(settings: settings) { server in
            try server.write(refinedGroup())
            let address = try ClickHouseAddress(server.url())
            _ = try steps(address, at: 1)
            try await server.execute("SYSTEM STOP MERGES")
            for time in 0..<3 {
                try await server.execute("INSERT INTO steps_refined_rows (device_id, run_id, t) VALUES (5, 1, \(time))")
            }
            let task = Task.detached {
                let run = try steps(address, at: 2)
                try run.write([step(at: 1, 2)])
                try run.complete(first: 0, last: 3)
            }
            let rejected = "SELECT sum(value) > 0 FROM system.events WHERE event = 'RejectedInserts'"
            try await expectEventually { try await server.execute(rejected) == ["1"] }
            try await server.execute("SYSTEM START MERGES")
            try await server.execute("OPTIMIZE TABLE steps_refined_rows")
            try await task.value
            #expect(try await server.execute("SELECT t, walk FROM steps_refined") == ["1\t2"])
        }
    }
}

let refinedDevice = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "one"))

/// Returns a group with one sample of the device.
func refinedGroup() -> IngestGroup {
    var block = SampleBlock(stream: .accelerometer)
    block.append(time: Timestamp(microseconds: 1), values: [0, 0, -1])
    let batch = Batch(position: nil, samples: block)
    return IngestGroup(batches: [
        ReceivedBatch(device: refinedDevice, batch: batch, receivedAt: Timestamp(microseconds: 1))
    ])
}

/// Begins a run.
func steps(_ address: ClickHouseAddress, at time: Int64) throws -> ClickHouseRefinedRun {
    try ClickHouseRefinedRun(
        address, device: refinedDevice, kind: .steps, method: "test", version: 1, parameters: "{}",
        now: Timestamp(microseconds: time))
}

func step(at time: Int64, _ walk: Int64) -> RefinedRow {
    RefinedRow(time: time, values: [0, Double(walk), 0.7, 2])
}
