import LockstepModel
import LockstepStore
import LockstepTestSupport

/// Runs `lockstep` with a store.
func lockstep(_ arguments: [String], _ store: String) async throws -> (status: Int32, text: String) {
    try await RunningProgram.run(
        Programs.built("lockstep"), arguments, environment: ["LOCKSTEP_STORE": "sqlite:\(store)"])
}

/// Creates a store with a gap, duplicates, an active device and a device without a state.
func withStore(_ body: (String) async throws -> Void) async throws {
    try await withTemporaryFolder { folder in
        let path = folder + "/store.db"
        let epoch = try Epoch(validating: "e1")
        let start: Int64 = 1_700_000_000_000_000
        var place = SampleBlock(stream: .location)
        place.append(
            time: Timestamp(microseconds: start), values: [46.5, 7.5, .nan, .nan, .nan, .nan, .nan, 3, .nan])
        let left = received(
            block([start, start + 10_000], x: [0.5, 0.25]), "left", BatchPosition(epoch: epoch, seq: 1))
        let active = LifecycleTransition(
            from: nil, to: .active, since: Timestamp(microseconds: start), reason: "start", seq: 1)
        try write(
            IngestGroup(
                batches: [
                    left, left, received(place, "left", BatchPosition(epoch: epoch, seq: 3)),
                    received(block([start], x: [0.5]), "right", nil, group: "lab"),
                ],
                transitions: [DeviceTransition(device: left.device, transition: active)],
                lifecycles: [left.device: LifecycleSnapshot(last: active)]), to: path)
        try await body(path)
    }
}

/// Writes to the store at `path` and closes it.
func write(_ group: IngestGroup, to path: String) throws { _ = try SQLiteStore(path: path).write(group) }

/// Returns accelerometer samples with these times, in µs, and x values.
func block(_ times: [Int64], x: [Double]) -> SampleBlock {
    SampleBlock(stream: .accelerometer, times: times, columns: [x, times.map { _ in 0 }, times.map { _ in -1 }])
}

/// Returns a batch of a device as received by a collector.
func received(
    _ block: SampleBlock, _ device: String, _ position: BatchPosition?, group: String = "default"
) -> ReceivedBatch {
    ReceivedBatch(
        device: DeviceAddress(group: GroupID(unchecked: group), device: DeviceID(unchecked: device)),
        batch: Batch(position: position, samples: block), receivedAt: Timestamp(microseconds: 1_700_000_001_000_000))
}
