import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The options with which a command finds its store.
struct StoreOptions: ParsableArguments {
    static let names = ["store"]

    @Option(help: "The store to read: sqlite:PATH.")
    var store: String?

    @Option(help: "YAML file with settings.")
    var config: String?

    /// Opens the store.
    func reader() throws -> StoreReader {
        // One file may serve all programs of a machine: what the others set is passed over here.
        let settings = try Settings(names: Self.names, file: config, ignoresOthers: true)
        guard let path = try settings.value("store", store, parse: sqlitePath) else {
            throw CommandFailure("no store: say which one to read, with --store sqlite:PATH")
        }
        return try StoreReader(path: path)
    }
}

/// The device and group that a command is limited to.
func deviceID(_ text: String) throws -> DeviceID { try DeviceID(validating: text) }
func groupID(_ text: String) throws -> GroupID { try GroupID(validating: text) }

/// A group that is not there is a mistake, not an empty answer.
func checkGroup(_ group: GroupID, among known: [DeviceAddress]) throws {
    guard !known.contains(where: { $0.group == group }) else { return }
    let groups = Set(known.map(\.group)).sorted().map(\.rawValue)
    throw CommandFailure(
        "the store knows no group '\(group)'"
            + (groups.isEmpty ? ": no device has been heard of yet" : "; known are \(groups.joined(separator: ", "))"))
}
