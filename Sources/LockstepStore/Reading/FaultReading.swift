public import LockstepModel
import LockstepSQLite

/// Reads what a collector has not stored as samples: rejected messages and conflicts.
public protocol FaultReading: AnyObject {
    /// Returns the rejected messages that the store keeps, in order of receipt.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive) on the collector's clock, or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    func rejections(from: Timestamp?, to: Timestamp?) throws(StoreError) -> [RejectedMessage]

    /// Returns the conflicts of a device: samples that arrived with another value for a stored time.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive) of the samples, or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number. If there are more, those received last are returned.
    /// - Returns: the conflicts, those received last first.
    func conflicts(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, limit: Int
    ) throws(StoreError) -> [DeviceHealth.Conflict]
}

extension StoreReader: FaultReading {
    public func rejections(from: Timestamp?, to: Timestamp?) throws(StoreError) -> [RejectedMessage] {
        try reading {
            let select = try database.prepare(
                "SELECT at, topic, reason, size, head FROM rejected WHERE at >= ?1 AND at < ?2 ORDER BY id")
            try select.bind(from?.microseconds ?? .min, at: 1)
            try select.bind(to?.microseconds ?? .max, at: 2)
            var messages: [RejectedMessage] = []
            while try select.step() { messages.append(Self.rejection(select)) }
            return messages
        }
    }

    public func conflicts(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, limit: Int
    ) throws(StoreError) -> [DeviceHealth.Conflict] {
        try reading {
            guard let id = try id(of: device) else { return [] }
            let start = from?.microseconds ?? .min
            return try conflicts(
                of: id, start..<max(start, to?.microseconds ?? .max), limit: Int64(max(0, limit)))
        }
    }
}
