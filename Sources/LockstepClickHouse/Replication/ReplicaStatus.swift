import LockstepStore

/// What a server reports of its replica of a store.
public struct ReplicaStatus: Hashable, Sendable {
    /// The number of replicas that are known, the server's own included.
    public var total: Int
    /// The number of replicas that have a connection to the keeper.
    public var active: Int
    /// The number of parts and merges that the replica has still to process.
    public var queue: Int
    /// The number of tables that cannot be written because the server has no connection to the keeper.
    public var readOnlyTables: Int
}

extension ReplicaStatus {
    /// Returns the status of the server's replica, or nil if the tables are not replicated.
    static func read(_ client: ClickHouseClient) throws(StoreError) -> ReplicaStatus? {
        let row = try client.rows(
            """
            SELECT min(total_replicas), min(active_replicas), sum(queue_size), sum(is_readonly OR is_session_expired), count()
            FROM system.replicas WHERE database = \(literal(client.address.database))
            """, inDatabase: false
        ).first
        guard let numbers = row?.map({ $0.flatMap { Int($0) } ?? 0 }), numbers.count == 5, numbers[4] > 0 else {
            return nil
        }
        return ReplicaStatus(total: numbers[0], active: numbers[1], queue: numbers[2], readOnlyTables: numbers[3])
    }
}
