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
            Store to read: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: LOCKSTEP_STORE, if set).
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
    func reader() throws -> any StoreReading {
        let settings = try settings()
        return try address(settings).with(password: StorePassword.read(storePasswordFile, settings)).reader()
    }

    /// Begins a run that writes refined data of a device to the store.
    func refinedRun(
        of device: DeviceAddress, kind: RefinedKind, method: String, version: Int, parameters: String, now: Timestamp
    ) throws -> any RefinedWriting {
        let settings = try settings()
        switch try address(settings).with(password: StorePassword.read(storePasswordFile, settings)) {
        case .sqlite(let path):
            return try RefinedRun(
                path: path, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now)
        case .clickHouse(let address):
            return try ClickHouseRefinedRun(
                address, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now)
        }
    }

    /// All programs on a machine may share one settings file, so settings of other programs are ignored.
    private func settings() throws -> Settings {
        try Settings(names: Self.names, file: config, ignoresUnknownKeys: true)
    }

    private func address(_ settings: Settings) throws -> StoreAddress {
        guard let address = try settings.value("store", store, parse: { try StoreAddress($0) }) else {
            throw CommandFailure("no store specified: use --store sqlite:PATH")
        }
        return address
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
