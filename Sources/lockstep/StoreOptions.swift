import ArgumentParser
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The store of a command that reads it.
struct StoreSettings: SettingGroup {
    let store = Setting(
        "store",
        """
        Store: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: LOCKSTEP_STORE, if set).
        """
    ) { try StoreAddress($0) }
    let password = StorePasswordSettings()
}

/// The options of a command that reads a store.
struct StoreOptions: ParsableArguments {
    @OptionGroup var options: Options<StoreSettings>
    @OptionGroup var file: SettingsFile

    /// Opens the store.
    func reader() throws -> StoreReader { try address().reader() }

    /// Returns the address of the store with the password. A password file can be a pipe, so do not read it again.
    func address() throws -> StoreAddress {
        // All programs on a machine may share one settings file, so settings of other programs are ignored.
        let settings = try Settings(of: [StoreSettings.self], file: file.config, ignoresUnknownKeys: true)
        guard let address = try settings.value(options.store) else {
            throw CommandFailure(
                "no store specified: use --store sqlite:PATH or --store clickhouse://HOST/DATABASE, or set LOCKSTEP_STORE"
            )
        }
        return address.with(password: try options.password.read(settings))
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
