public import LockstepStore

/// What a ClickHouse server reports of a store.
public struct ServerStatus: Hashable, Sendable {
    /// The version of the server.
    public var version: String
    /// The number of devices in the store.
    public var devices: Int
    /// The highest number of parts in a partition of a table. Each insert creates a part, and ClickHouse merges them; at
    /// 300 it refuses inserts in its default settings.
    public var parts: Int
    /// The free and the total space of the server's disk in bytes, or nil before ClickHouse 19.15.
    public var disk: DiskSpace?
    /// The status of the replica, or nil if the tables are not replicated.
    public var replica: ReplicaStatus?

    /// The space of a disk in bytes.
    public struct DiskSpace: Hashable, Sendable {
        /// The free space.
        public var free: Int64
        /// The total space.
        public var size: Int64
    }

    /// Creates a status.
    public init(version: String, devices: Int, parts: Int, disk: DiskSpace? = nil) {
        self.version = version
        self.devices = devices
        self.parts = parts
        self.disk = disk
    }
}

extension ServerStatus {
    /// Asks a server.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    /// - Throws: ``/LockstepStore/StoreError`` if the server does not answer, or refuses to show its system tables.
    public init(of address: ClickHouseAddress, timeout: Int) throws(StoreError) {
        let client = try ClickHouseDriver(address, timeout: timeout).client
        // The status of a replica that lags behind is wanted too.
        client.readsReplicas = false
        let version = try ServerVersion(client).description
        let parts = try client.rows(
            """
            SELECT max(parts) FROM (SELECT table, partition, count() AS parts FROM system.parts
            WHERE active AND database = currentDatabase() GROUP BY table, partition)
            """)
        self.init(
            version: version, devices: try DeviceRecord.read(client).count,
            parts: parts.first?[0].flatMap { Int($0) } ?? 0)
        replica = try ReplicaStatus.read(client)
        let hasDisks = try !client.rows(
            "SELECT name FROM system.tables WHERE database = 'system' AND name = 'disks'"
        ).isEmpty
        if hasDisks, let row = try client.rows("SELECT min(free_space), min(total_space) FROM system.disks").first,
            let free = row[0].flatMap({ Int64($0) }), let size = row[1].flatMap({ Int64($0) })
        {
            disk = .init(free: free, size: size)
        }
    }
}
