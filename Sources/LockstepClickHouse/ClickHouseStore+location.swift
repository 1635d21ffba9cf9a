public import LockstepStore

extension ClickHouseStore {
    /// The servers and the database, as the address names them.
    public var location: StoreLocation? { client.address.location }
}

extension ClickHouseAddress {
    /// The location of the store, without the user. It is the same on all machines that use the same address, unless the
    /// address is that of the machine itself.
    var location: StoreLocation {
        let name = servers.map(\.description).sorted().joined(separator: ",") + "/" + database
        let isLocal = servers.contains { ["localhost", "::1"].contains($0.host) || $0.host.hasPrefix("127.") }
        return StoreLocation(name: name, key: "clickhouse:" + name, isLocal: isLocal)
    }
}
