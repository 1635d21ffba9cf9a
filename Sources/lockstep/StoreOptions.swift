import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The options of a command that reads a store.
struct StoreOptions: ParsableArguments {
    /// The names of the settings behind these options.
    static let names = ["store"]

    @Option(help: "Store to read: sqlite:PATH (default: LOCKSTEP_STORE, if set).")
    var store: String?

    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    var config: String?

    /// Opens the store.
    func reader() throws -> StoreReader {
        // All programs on a machine may share one settings file, so ignore the settings of other programs.
        let settings = try Settings(names: Self.names, file: config, ignoresUnknownKeys: true)
        guard let path = try settings.value("store", store, parse: sqlitePath) else {
            throw CommandFailure("no store specified: use --store sqlite:PATH")
        }
        return try StoreReader(path: path)
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
