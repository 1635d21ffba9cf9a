import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The options of a command that reads a store.
struct StoreOptions: ParsableArguments {
    /// The names of the settings behind these options.
    static let names = ["store", "store-password-file", "store-password"]

    @Option(
        help: """
            Store: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: LOCKSTEP_STORE, if set).
            """)
    var store: String?

    @Option(
        help: """
            File with the password of the ClickHouse user on its first line, readable only by its owner \
            (LOCKSTEP_STORE_PASSWORD also sets the password).
            """)
    var storePasswordFile: String?

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    /// The error for a store that cannot have events.
    static let noEvents = "the store has no tables of events yet: start a collector of this version of Lockstep with it"

    /// Opens the store.
    func reader() throws -> any StoreReading { try address().reader() }

    /// Returns the address of the store with the password. A password file can be a pipe, so do not read it again.
    func address() throws -> StoreAddress {
        // All programs on a machine may share one settings file, so settings of other programs are ignored.
        let settings = try Settings(names: Self.names, file: config, ignoresUnknownKeys: true)
        guard let address = try settings.value("store", store, parse: { try StoreAddress($0) }) else {
            throw CommandFailure(
                "no store specified: use --store sqlite:PATH or --store clickhouse://HOST/DATABASE, or set LOCKSTEP_STORE"
            )
        }
        return address.with(password: try StorePassword.read(storePasswordFile, settings))
    }
}

/// Parses a group id, for `@Option(transform:)`.
func groupID(_ text: String) throws -> GroupID { try GroupID(validating: text) }

/// Throws for an unknown group, instead of an empty result.
func checkGroup(_ group: GroupID, among known: [DeviceAddress]) throws {
    guard !known.contains(where: { $0.group == group }) else { return }
    let groups = Set(known.map(\.group)).sorted().map(\.rawValue)
    throw CommandFailure(
        "no group '\(group)' in the store"
            + (groups.isEmpty ? ", which has no devices yet" : "; known groups: \(groups.joined(separator: ", "))"))
}
