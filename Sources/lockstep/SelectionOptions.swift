import ArgumentParser
import LockstepCommandLine
import LockstepModel
import LockstepStore

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
