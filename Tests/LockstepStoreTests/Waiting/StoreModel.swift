@testable import LockstepModel
@testable import LockstepStore

/// A reference model of a store with all its streams, based on dictionaries.
struct StoreModel {
    private struct Series: Hashable {
        let device: String
        let stream: String
    }

    private struct Conflict: Hashable {
        let device: String
        let stream: String
        let time: Int64
        let values: String
    }

    private struct Figures {
        var counts = IngestResult.Counts()
        var firstSeen: Int64
        var lastSeen: Int64
        var newest: Int64?
    }

    private let streams: [SensorStream]
    private var samples: [Series: [Int64: [Double]]] = [:]
    private var conflicts: Set<Conflict> = []
    private var devices: [String: Figures] = [:]
    private var clocks: Set<DeviceClock> = []
    private var received: [DeviceEpoch: SequenceSet] = [:]
    private var dropped: [DeviceEpoch: SequenceSet] = [:]
    /// The lines of each series. Formatting is slow in debug builds, so only changed series are formatted again.
    private var lines: [Series: String] = [:]

    init(streams: [SensorStream]) { self.streams = streams }

    /// Writes a group and returns the result that a store must return.
    mutating func write(_ group: IngestGroup) -> ModelResult {
        var result = ModelResult()
        for batch in group.batches {
            recordMessage(from: batch.device, at: batch.receivedAt)
            result.devices[batch.device, default: .init()] += add(batch)
            guard let position = batch.batch.position else { continue }
            let key = DeviceEpoch(device: batch.device, epoch: position.epoch)
            if RangeLedger.validNumbers.contains(position.seq) { received[key, default: []].insert(position.seq) }
            result.received[key] = []
        }
        for (device, time) in group.seen {
            recordMessage(from: device, at: time)
            result.devices[device, default: .init()] += .init()
        }
        clocks.formUnion(group.clocks)
        for entry in group.dropped {
            let key = DeviceEpoch(device: entry.device, epoch: entry.epoch)
            dropped[key, default: []].formUnion(entry.ranges)
            result.received[key] = []
        }
        for key in result.received.keys { result.received[key] = (received[key] ?? []).union(dropped[key] ?? []) }
        for (device, counts) in result.devices { devices[device.device.rawValue]?.counts += counts }
        return result
    }

    /// The content that the store must show.
    var content: StoreContent {
        var content = StoreContent()
        let series = lines.keys.sorted { $0.device < $1.device }
        for stream in streams {
            content.streams[stream.name] = series.filter { $0.stream == stream.name }.compactMap { lines[$0] }
                .joined(separator: "\n")
        }
        content.devices = devices.sorted { $0.key < $1.key }.map { device, figures in
            let counts = figures.counts
            let newest = figures.newest.map { "\($0 - start)" } ?? "-"
            return "\(device)|\(counts.stored)|\(counts.duplicates)|\(counts.conflicts)|\(figures.firstSeen - start)"
                + "|\(figures.lastSeen - start)|\(newest)"
        }.joined(separator: "\n")
        content.conflicts = conflicts.map { "\($0.device)|\($0.stream)|\($0.time - start)|\($0.values)" }.sorted()
            .joined(separator: "\n")
        content.clocks = clocks.map { clock in
            "\(clock.device.device)|\(clock.point.time.microseconds - start)|\(clock.point.offset)"
                + "|\(Double(clock.point.skew) / 1000)"
        }.sorted().joined(separator: "\n")
        for (key, numbers) in received where !numbers.isEmpty {
            content.batches["\(key.device.device) \(key.epoch)"] = numbers
        }
        return content
    }

    private mutating func recordMessage(from device: DeviceAddress, at time: Timestamp) {
        let time = time.microseconds
        var figures = devices[device.device.rawValue] ?? Figures(firstSeen: time, lastSeen: time)
        figures.firstSeen = min(figures.firstSeen, time)
        figures.lastSeen = max(figures.lastSeen, time)
        devices[device.device.rawValue] = figures
    }

    private mutating func add(_ batch: ReceivedBatch) -> IngestResult.Counts {
        let (block, device) = (batch.batch.samples, batch.device.device.rawValue)
        let series = Series(device: device, stream: block.stream.name)
        var counts = IngestResult.Counts()
        var newest = devices[device]?.newest
        for (index, time) in block.times.enumerated() {
            let values = zip(block.stream.columns, block.values(at: index)).map { $0.kind.normalized($1) }
            guard let stored = samples[series]?[time] else {
                samples[series, default: [:]][time] = values
                newest = max(newest ?? time, time)
                counts.stored += 1
                continue
            }
            let isEqual = zip(stored, values).allSatisfy { $0 == $1 || ($0.isNaN && $1.isNaN) }
            let conflict = Conflict(
                device: device, stream: series.stream, time: time, values: block.stream.json(values))
            if !isEqual && conflicts.insert(conflict).inserted { counts.conflicts += 1 } else { counts.duplicates += 1 }
        }
        guard counts.stored > 0 else { return counts }
        devices[device]?.newest = newest
        lines[series] = (samples[series] ?? [:]).sorted { $0.key < $1.key }.map { time, values in
            let texts = zip(block.stream.columns, values).map { $0.kind.text($1) }
            return "\(device)|\(time - start)|" + texts.joined(separator: "|")
        }.joined(separator: "\n")
        return counts
    }
}

extension SensorStream.Kind {
    /// Returns a value as SQLite formats it.
    fileprivate func text(_ value: Double) -> String {
        guard !value.isNaN else { return "-" }
        return switch self {
        case .real: "\(value)"
        case .integer: "\(Int64(value))"
        case .choice(let words): words[Int(value)]
        }
    }
}
