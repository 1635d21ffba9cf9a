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

    /// Fills a new store with the older rows.
    func fill(_ path: String) throws { try fleet.fill(path, rows: prefill, begin: begin) }

    private func batch(device: Int, round: Int, first: Int, count: Int, end: Timestamp) throws -> Batch {
        try fleet.batch(
            device: device, seq: Int64(round + (prefill > 0 ? 1 : 0)), first: first, count: count, end: end)
    }

    private func writePresence() throws {
        let file = try LoadFile(presenceFile)
        for device in 0..<fleet.devices {
            let presence = Presence(
                epoch: try WritesFleet.epoch, session: begin.microseconds, phase: .foreground, at: begin,
                reason: "start")
            file.add(
                topic: TopicRoot.standard.topic(try fleet.address(device), .presence),
                payload: PresenceJSON.encode(presence))
        }
        try file.close()
    }
}
