import LockstepHTTP
import LockstepLive
import LockstepModel
import LockstepStore
import LockstepWire
import Logging

/// Adds what the store knows about streams and devices to the live picture, at the start and every few seconds.
struct StoreSeeder {
    let store: StorePool
    let picture: LivePicture
    let knownStreams: KnownStreams
    let logger: Logger
    /// The time between two reads of the counters. People see a store that cannot be read within 5 s, with the time that
    /// the page takes to ask.
    var interval = Duration.milliseconds(2500)

    /// Runs until the task is cancelled.
    func run() async {
        // States and newest samples take longer to read than the counters, and arrive by MQTT later.
        var isOpen = false
        var lastProblem: String?
        while !Task.isCancelled {
            do {
                let isFirst = !isOpen
                let (catalog, seeds) = try await store.read { reader, cancellation in
                    let catalog = try reader.catalog()
                    return (
                        catalog, isFirst ? try Self.seeds(reader, catalog, cancellation) : try Self.counters(reader)
                    )
                }
                // Also later, because a collector may start with further streams.
                knownStreams.use(stored: catalog)
                picture.seed(seeds)
                // Also events that no message reports, because their rules have no way out by MQTT.
                let events = try await store.read { reader, cancellation in
                    try reader.events(limit: 1000, cancellation: cancellation)
                }
                picture.seed(events)
                if isFirst { logger.info("store opened", metadata: ["devices": "\(seeds.count)"]) }
                isOpen = true
                lastProblem = nil
            } catch is CancellationError {
                return
            } catch {
                let problem = (error as? Problem)?.detail ?? "\(error)"
                if problem != lastProblem { logger.warning("store not readable", metadata: ["error": "\(problem)"]) }
                lastProblem = problem
                isOpen = false
            }
            try? await Task.sleep(for: interval)
        }
    }

    /// Returns what the store knows about all devices.
    private static func seeds(
        _ reader: StoreReader, _ catalog: StreamCatalog, _ cancellation: QueryCancellation
    ) throws -> [DeviceSeed] {
        try reader.overviews(cancellation: cancellation).map { overview in
            var seed = seed(overview.device)
            seed.transition = overview.device.transition
            seed.newest =
                overview.newest.keys.compactMap(catalog.stream(ofChannel:)).map { SampleBlock(stream: $0) }
                + [overview.battery.map { block(.battery, $0) }].compactMap(\.self)
            seed.lastFix = overview.position.map { block(.location, $0) }
            return seed
        }
    }

    /// Returns the counters of all devices.
    private static func counters(_ reader: StoreReader) throws -> [DeviceSeed] { try reader.devices().map(seed) }

    private static func seed(_ device: StoredDevice) -> DeviceSeed {
        var seed = DeviceSeed(
            address: device.address,
            counters: StoredCounters(
                samples: device.samples, duplicates: device.duplicates, conflicts: device.conflicts,
                missing: device.missing, onItsWay: device.onItsWay, droppedBatches: device.dropped),
            lastSample: device.lastSample)
        seed.isForgotten = device.isForgotten
        return seed
    }

    private static func block(_ stream: SensorStream, _ sample: DeviceOverview.Sample) -> SampleBlock {
        SampleBlock(stream: stream, times: [sample.time.microseconds], columns: sample.values.map { [$0] })
    }
}
