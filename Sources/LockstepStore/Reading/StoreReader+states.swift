public import LockstepModel
import LockstepSQLite

extension StoreReader {
    /// Returns whether a device is stored.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func contains(
        _ device: DeviceAddress, cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> Bool {
        try reading(until: cancellation) { try id(of: device) != nil }
    }

    /// Returns changes of a device's life-cycle state, in the order of their numbers.
    /// - Parameters:
    ///   - from: the start of the time range (inclusive), or nil for no limit.
    ///   - to: the end of the time range (exclusive), or nil for no limit.
    ///   - limit: the maximum number of changes. If there are more, the newest are returned.
    /// - Throws: ``StoreError`` if the store cannot be read.
    public func transitions(
        of device: DeviceAddress, from: Timestamp? = nil, to: Timestamp? = nil, limit: Int = 1000,
        cancellation: QueryCancellation? = nil
    ) throws(StoreError) -> [LifecycleTransition] {
        try reading(until: cancellation) {
            guard let id = try id(of: device) else { return [] }
            let select = try database.prepare(
                """
                SELECT seq, state, since, previous, reason FROM states
                WHERE device_id = ?1 AND since >= ?2 AND since < ?3 ORDER BY seq DESC LIMIT ?4
                """)
            try select.bind(id, at: 1)
            try select.bind(from?.microseconds ?? .min, at: 2)
            try select.bind(to?.microseconds ?? .max, at: 3)
            try select.bind(Int64(max(0, limit)), at: 4)
            var transitions: [LifecycleTransition] = []
            while try select.step() {
                if let transition = transition(select, at: 0) { transitions.append(transition) }
            }
            return transitions.reversed()
        }
    }
}
