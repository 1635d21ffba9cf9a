import Glibc
import LockstepModel
import LockstepSQLite

/// Where a store is, so that a collector can distinguish it from the store of another collector.
///
/// It does not depend on the content: a copy of a store is another store, because the two differ from then on.
public struct StoreLocation: Sendable, Hashable {
    /// The name for people: the path of the file, or the servers and the database.
    public let name: String
    /// The same whenever this store is opened from here, and different for other stores, except on machines with copies of
    /// one disk, which may have the same machine id: 16 hexadecimal digits.
    public let id: String
    /// The host name of this machine.
    public let host: String

    /// Creates a location.
    /// - Parameters:
    ///   - name: the name for people.
    ///   - key: a text that identifies the store.
    ///   - isLocal: whether the key is only valid on this machine.
    public init(name: String, key: String, isLocal: Bool) {
        self.name = name
        host = MachineIdentity.hostName()
        var hash = StableHash()
        hash.combine(key)
        if isLocal { hash.combine(MachineIdentity.current()) }
        let digits = String(hash.value, radix: 16)
        id = String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// The location of an SQLite file, or nil if it does not exist. The id stays the same when the file is renamed.
    public init?(file path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(name: realPath(path), key: "sqlite:\(status.st_dev):\(status.st_ino)", isLocal: true)
    }
}
