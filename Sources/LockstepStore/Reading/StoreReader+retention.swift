public import LockstepModel
import LockstepSQLite

/// What has left of a stream of a device.
public struct SeriesExpiry: Hashable, Sendable {
    /// The device.
    public let device: DeviceAddress
    /// The name of the stream.
    public let stream: String
    /// The time before which samples have left, except held ones, in µs since 1970.
    public let before: Int64
    /// The number of samples that have left.
    public let samples: Int64
    /// The number of samples that arrived afterwards from before that time, and were not stored.
    public let late: Int64

    package init(device: DeviceAddress, stream: String, before: Int64, samples: Int64, late: Int64) {
        self.device = device
        self.stream = stream
        self.before = before
        self.samples = samples
        self.late = late
    }
}

/// The size of a stream of a device in a store.
public struct SeriesSize: Hashable, Sendable {
    /// The device.
    public let device: DeviceAddress
    /// The name of the stream.
    public let stream: String
    /// The number of samples.
    public let samples: Int64
    /// The time of the oldest sample, in µs since 1970.
    public let oldest: Int64
    /// The size of the samples in bytes: their share of the pages of the stream's table.
    public let bytes: Int64
}

extension StoreReader {
    /// Returns the series of which samples have left, ordered by group, device and stream.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func expiries() throws(StoreError) -> [SeriesExpiry] {
        try reading {
            guard let expired = try driver.expired() else { return [] }
            let addresses = Dictionary(try devices().map { ($0.id, $0.0) }) { first, _ in first }
            return try source.rows(
                "SELECT device_id, stream, from_t, samples, late FROM \(expired) WHERE samples > 0 OR late > 0"
            ) { row throws(StoreError) in
                guard let device = addresses[row.int64(at: 0)], let stream = row.text(at: 1) else { return nil }
                return SeriesExpiry(
                    device: device, stream: stream, before: row.int64(at: 2), samples: row.int64(at: 3),
                    late: row.int64(at: 4))
            }.sorted { ($0.device, $0.stream) < ($1.device, $1.stream) }
        }
    }

    /// Returns the ranges of time whose samples stay, ordered by number. ClickHouse has none.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func holds() throws(StoreError) -> [Hold] {
        guard let driver = driver as? SQLiteDriver else { return [] }
        return try reading { try HoldTable.read(in: driver.database).map(\.hold) }
    }

    /// Returns the time before which samples of a series have left, or `Int64.min`.
    func expiryLimit(of stream: SensorStream, device: Int64) throws -> Int64 {
        guard let expired = try driver.expired() else { return .min }
        return try source.rows(
            "SELECT from_t FROM \(expired) WHERE device_id = \(device) AND stream = \(source.literal(stream.name))"
        ) { $0.int64(at: 0) }.first ?? .min
    }

    /// Returns the size of each stream of each device, the largest first. It counts all samples, which takes about a second for
    /// ten millions. What waits is left out.
    /// - Throws: ``StoreError`` if the store cannot be read, or is no SQLite store.
    public func sizes() throws(StoreError) -> [SeriesSize] {
        guard let driver = driver as? SQLiteDriver else {
            throw StoreError(.other, "only an SQLite store has sizes of devices: see system.parts of the server")
        }
        return try reading { try driver.sizes(of: try devices()) }
    }
}

extension SQLiteDriver {
    func expired() throws -> String? {
        guard try ExpiredTable.exists(in: database) else { return nil }
        return """
            (SELECT device_id, name AS stream, from_t, expired.samples, late FROM expired JOIN streams USING (stream_id))
            """
    }

    fileprivate func sizes(of devices: [(DeviceAddress, id: Int64)]) throws -> [SeriesSize] {
        var sizes: [SeriesSize] = []
        for stream in try StreamDefinition.catalog(source).streams {
            guard try !StoreSchema.columns(of: stream.rowTable, in: database).isEmpty else { continue }
            let count = try database.prepare("SELECT count(*), min(t) FROM \(stream.rowTable) WHERE device_id = ?")
            var rows: [(device: DeviceAddress, count: Int64, oldest: Int64)] = []
            for (device, id) in devices {
                defer { count.reset() }
                try count.bind(id, at: 1)
                guard try count.step(), count.int64(at: 0) > 0 else { continue }
                rows.append((device, count.int64(at: 0), count.int64(at: 1)))
            }
            let all = max(1, rows.reduce(0) { $0 + $1.count })
            let rowBytes = tableSize(stream.rowTable) ?? all * Int64(stream.rowSize)
            let bytes = rowBytes + (tableSize(stream.minutesTable) ?? 0)
            sizes += rows.map {
                SeriesSize(
                    device: $0.device, stream: stream.name, samples: $0.count, oldest: $0.oldest,
                    bytes: Int64(Double(bytes) * Double($0.count) / Double(all)))
            }
        }
        return sizes.sorted { ($1.bytes, $0.device, $0.stream) < ($0.bytes, $1.device, $1.stream) }
    }

    /// Returns the size of the pages of a table in bytes, or nil if this build of SQLite cannot tell.
    private func tableSize(_ table: String) -> Int64? {
        (try? database.integer("SELECT pgsize FROM dbstat WHERE name = '\(table)' AND aggregate = TRUE"))
            .flatMap { $0 > 0 ? $0 : nil }
    }
}
