import ArgumentParser
import FoundationEssentials
import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The store of a command that reads it.
struct StoreSettings: SettingGroup {
    let store = Setting(
        "store",
        """
        Store: sqlite:PATH, or clickhouse://[user@]host[:port][,host…]/database (default: LOCKSTEP_STORE, if set; \
        commands that only read take that of 'lockstep up' in its default folder otherwise, if there is one).
        """
    ) { try StoreAddress($0) }
    let password = StorePasswordSettings()
}

extension Options<StoreSettings> {
    /// Returns the address of the store with the password.
    /// - Parameter isRead: whether the command only reads. It may then read the store of `lockstep up`.
    func address(_ settings: Settings, isRead: Bool = false) throws -> StoreAddress {
        var given = try settings.value(self.store)
        if given == nil, isRead, let standard = UpPlan.defaultStore(ProcessInfo.processInfo.environment) {
            Terminal.writeError("note: this is the store of 'lockstep up': \(standard)")
            given = standard
        }
        guard let address = given else {
            throw CommandFailure(
                "no store specified: use --store sqlite:PATH or --store clickhouse://HOST/DATABASE, or set LOCKSTEP_STORE; "
                    + "that of 'lockstep up' is the file samples.db in its folder"
            )
        }
        return address.with(password: try self.password.read(settings))
    }
}

/// The options of a command that reads a store.
struct StoreOptions: ParsableArguments {
    @OptionGroup var options: Options<StoreSettings>
    @OptionGroup var file: SettingsFile

    func reader() throws -> StoreReader { try address().reader() }

    /// Returns the address of the store with the password. A password file can be a pipe, so do not read it again.
    /// - Parameter isRead: whether the command only reads. It may then read the store of `lockstep up`.
    func address(isRead: Bool = true) throws -> StoreAddress {
        // All programs on a machine may share one settings file, so settings of other programs are ignored.
        let settings = try Settings(of: [StoreSettings.self], file: file.config, ignoresUnknownKeys: true)
        return try options.address(settings, isRead: isRead)
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

/// The devices and the time range of a command that reads rows.
struct SelectionOptions: ParsableArguments {
    @Option(
        help: "Only this device, as [GROUP/]DEVICE; without a group, in any group. May be repeated.",
        transform: DeviceArgument.init(parsing:))
    var device: [DeviceArgument] = []

    @Option(help: "Only devices of this group.", transform: groupID)
    var group: GroupID?

    @OptionGroup var timeRange: TimeRangeOptions

    /// Returns the groups to read, in order, each with the devices to read; no devices stand for all devices.
    /// - Throws: ``CommandFailure`` for an unknown device or group, instead of an empty result.
    func groups(of reader: StoreReader) throws -> [(group: GroupID?, devices: [DeviceID])] {
        guard !device.isEmpty || group != nil else { return [(nil, [])] }
        let known = try reader.devices().map(\.address)
        if let group { try checkGroup(group, among: known) }
        guard !device.isEmpty else { return [(group, [])] }
        let addresses = Dictionary(grouping: try device.addresses(in: group, among: known), by: \.group)
        return addresses.sorted { $0.key < $1.key }.map { ($0.key, $0.value.map(\.device)) }
    }
}

/// The options `--from`, `--to` and `--local`.
struct TimeRangeOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "Start of the time range, inclusive.")
    var from: String?

    @Option(parsing: .unconditional, help: "End of the time range, exclusive.")
    var to: String?

    @OptionGroup var zone: ZoneOptions

    /// Returns the time range.
    /// - Throws: ``CommandFailure`` for an invalid or empty range.
    func range(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        let (from, to) = try times(now: now)
        if let from, let to, from >= to {
            throw CommandFailure("--from \(from.shown(decimals: 6)) is not before --to \(to.shown(decimals: 6))")
        }
        return (from, to)
    }

    /// Returns the time range, which may be empty.
    /// - Throws: ``CommandFailure`` for an invalid range.
    func rangeOrEmpty(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        let (from, to) = try times(now: now)
        if let from, let to, from > to {
            throw CommandFailure("--from \(from.shown(decimals: 6)) is after --to \(to.shown(decimals: 6))")
        }
        return (from, to)
    }

    private func times(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        (try from.map { try time($0, now: now) }, try to.map { try time($0, now: now) })
    }
}
