import LockstepModel
import LockstepStore
import LockstepWire

/// The messages of a fleet, written to files, and older samples of the same devices.
struct WritesLoad {
    let fleet: WritesFleet
    /// The number of older rows of each device.
    let prefill: Int
    /// The number of messages, not counting presence messages.
    let messages: Int
    /// The start of the live messages.
    let begin: Timestamp
    /// The presence messages of all devices, for `publish-load`.
    let presenceFile: String
    /// The live messages, for `publish-paced`.
    let messageFile: String
    /// The live samples, for `append-rows`.
    let rowFile: String

    var samples: Int { messages * fleet.samples }
    private static let epoch = "bench"

    init(_ fleet: WritesFleet, seconds: Int, prefill: Int, in folder: String) throws {
        self.fleet = fleet
        self.prefill = prefill
        begin = Moment.now().wall
        let rounds = fleet.rounds(seconds: seconds)
        messages = rounds * fleet.devices
        (presenceFile, messageFile, rowFile) = ("\(folder)/presence", "\(folder)/messages", "\(folder)/rows")
        try writePresence()
        let files = try (LoadFile(messageFile), LoadFile(rowFile))
        let topics = try (0..<fleet.devices).map {
            TopicRoot.standard.topic(try fleet.address($0), .stream(.accelerometer))
        }
        for round in 0..<rounds {
            for device in 0..<fleet.devices {
                let due = fleet.due(device: device, round: round)
                let batch = try batch(
                    device: device, round: round + 1, first: round * fleet.samples, count: fleet.samples,
                    end: begin + due)
                files.0.add(due: due, device: device, topic: topics[device], payload: BatchJSON.encode(batch))
                files.1.add(batch.samples, device: Int32(device + 1), stream: 0)
            }
        }
        try files.0.close()
        try files.1.close()
    }

    /// Fills a new store with the older rows. Each device has sent them as one batch.
    func fill(_ path: String) throws {
        guard prefill > 0 else { return }
        let store = try SQLiteStore(path: path)
        var (group, rows) = (IngestGroup(), 0)
        func write() throws {
            try store.add(group)
            _ = try store.commit()
            if store.needsMaintenance { store.performMaintenance() }
            (group, rows) = (IngestGroup(), 0)
        }
        for device in 0..<fleet.devices {
            // The first live samples are at most a window older than the start.
            let end = begin - Int64(fleet.window)
            let batch = try batch(device: device, round: 0, first: -prefill, count: prefill, end: end)
            group.append(ReceivedBatch(device: try fleet.address(device), batch: batch, receivedAt: begin))
            rows += prefill
            if rows >= 100_000 { try write() }
        }
        if rows > 0 { try write() }
    }

    private func batch(device: Int, round: Int, first: Int, count: Int, end: Timestamp) throws -> Batch {
        Batch(
            position: BatchPosition(
                epoch: try Epoch(validating: Self.epoch), seq: Int64(round + (prefill > 0 ? 1 : 0))),
            isLive: true, samples: fleet.block(device: device, first: first, count: count, end: end))
    }

    private func writePresence() throws {
        let file = try LoadFile(presenceFile)
        for device in 0..<fleet.devices {
            let presence = Presence(
                epoch: try Epoch(validating: Self.epoch), session: begin.microseconds, phase: .foreground, at: begin,
                reason: "start")
            file.add(
                topic: TopicRoot.standard.topic(try fleet.address(device), .presence),
                payload: PresenceJSON.encode(presence))
        }
        try file.close()
    }
}
