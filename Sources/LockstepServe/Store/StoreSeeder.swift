import LockstepLive
import LockstepModel
import LockstepStore
import Logging

/// Adds what the store knows about devices to the live picture, at the start and every few seconds.
struct StoreSeeder {
    let store: StorePool
    let picture: LivePicture
    let logger: Logger
    /// The time between two reads of the counters.
    var interval = Duration.seconds(5)

    /// Runs until the task is cancelled.
    func run() async {
        // The newest samples of all streams take longer to read than the counters, and arrive by MQTT later.
        var hasNewest = false
        var lastProblem: String?
        while !Task.isCancelled {
            do {
                let withNewest = !hasNewest
                let seeds = try await store.read { reader, _ in try Self.seeds(reader, withNewest: withNewest) }
                picture.seed(seeds)
                if withNewest { logger.info("store opened", metadata: ["devices": "\(seeds.count)"]) }
                hasNewest = true
                lastProblem = nil
            } catch is CancellationError {
                return
            } catch {
                let problem = (error as? Problem)?.detail ?? "\(error)"
                if problem != lastProblem { logger.warning("store not readable", metadata: ["error": "\(problem)"]) }
                lastProblem = problem
                hasNewest = false
            }
            try? await Task.sleep(for: interval)
        }
    }

    private static func seeds(_ reader: StoreReader, withNewest: Bool) throws -> [DeviceSeed] {
        var newest: [DeviceAddress: [SampleBlock]] = [:]
        if withNewest {
            for stream in try reader.catalog().streams {
                try reader.query(stream: stream, detail: .last) { row in
                    newest[row.device, default: []].append(
                        SampleBlock(
                            stream: stream, times: [row.time.microseconds], columns: row.values.map { [$0] }))
                }
            }
        }
        return try reader.devices().map { device in
            let blocks = newest[device.address] ?? []
            return DeviceSeed(
                address: device.address,
                counters: StoredCounters(
                    samples: device.samples, duplicates: device.duplicates, conflicts: device.conflicts,
                    gaps: device.gaps, droppedBatches: device.dropped),
                newest: blocks, lastSample: device.lastSample,
                lastFix: blocks.first { $0.stream.name == SensorStream.location.name })
        }
    }
}
