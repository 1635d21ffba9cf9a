public import LockstepModel

// What a collector has not stored as samples: rejected messages and conflicts.

extension StoreReader {
    /// Returns the rejected messages that the store keeps, in order of receipt.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive) on the collector's clock, or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func rejections(from: Timestamp? = nil, to: Timestamp? = nil) throws(StoreError) -> [RejectedMessage] {
        let times = timeRange(from, to)
        return try reading {
            try RejectedMessage.read(
                source,
                where:
                    "at >= \(times.lowerBound) AND at < \(times.upperBound) ORDER BY \(source.dialect.orderOfRejected)")
        }
    }

    /// Returns the conflicts of a device: samples that arrived with another value for a stored time.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive) of the samples, or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number. If there are more, those received last are returned.
    /// - Returns: the conflicts, those received last first.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func conflicts(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil, limit: Int = .max
    ) throws(StoreError) -> [DeviceHealth.Conflict] {
        try reading {
            guard let id = try driver.id(of: device), let record = try DeviceRecord.read(source, id: id).first else {
                return []
            }
            return try driver.conflicts(of: record, timeRange(from, to), limit: max(0, limit))
        }
    }

    /// Returns the faults in the delivery of a device, or nil if it is not stored.
    ///
    /// A rejected message is one of the device if its topic contains `/GROUP/DEVICE/`.
    /// - Parameter limit: the maximum number of conflicts and of rejected messages.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func health(
        of device: DeviceAddress, limit: Int = 10, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> DeviceHealth? {
        try reading(until: cancellation) {
            guard let id = try driver.id(of: device), let stored = try stored(id).first else { return nil }
            let isOwn = "\(source.dialect.position)(topic, \(source.literal("/\(device)/"))) > 0"
            return DeviceHealth(
                device: stored, rejected: try source.integer("SELECT count(*) FROM rejected WHERE \(isOwn)"),
                clock: try newestClocks(of: id)[id],
                recentConflicts: try driver.conflicts(of: stored.record, .min ..< .max, limit: max(0, limit)),
                recentRejections: try RejectedMessage.read(
                    source,
                    where: "\(isOwn) ORDER BY \(source.dialect.orderOfRejected) DESC LIMIT \(max(0, limit))"))
        }
    }
}

extension RejectedMessage {
    /// Reads the messages that meet a condition.
    package static func read(
        _ source: any StoreSource, where condition: String
    ) throws(StoreError) -> [RejectedMessage] {
        try source.rows("SELECT at, topic, reason, size, hex(head) FROM rejected WHERE \(condition)") {
            row throws(StoreError) in
            RejectedMessage(
                at: Timestamp(microseconds: row.int64(at: 0)), topic: row.text(at: 1) ?? "",
                reason: row.text(at: 2) ?? "", size: Int(row.int64(at: 3)), head: bytes(hex: row.text(at: 4) ?? ""))
        }
    }
}

/// Returns the bytes of a text with two hexadecimal digits for each byte.
private func bytes(hex text: String) -> [UInt8] {
    let digits = Array(text.utf8)
    return stride(from: 0, to: digits.count - 1, by: 2).compactMap { index in
        UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16)
    }
}
