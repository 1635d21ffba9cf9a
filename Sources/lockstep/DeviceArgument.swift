import LockstepCommandLine
import LockstepModel

/// A device on the command line, as `[GROUP/]DEVICE`.
struct DeviceArgument: Hashable, CustomStringConvertible {
    /// The group, or nil if it is not given.
    let group: GroupID?
    let device: DeviceID

    /// Parses a device, for `@Option(transform:)`.
    /// - Throws: ``CommandFailure`` or an `IdentifierError` for any other text.
    init(parsing text: String) throws {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let device = parts.last else {
            throw CommandFailure("'\(text)' is not a device: use [GROUP/]DEVICE")
        }
        group = parts.count == 2 ? try GroupID(validating: String(parts[0])) : nil
        self.device = try DeviceID(validating: String(device))
    }

    /// The address of one device. Without a group, the device is in the default group.
    var address: DeviceAddress { DeviceAddress(group: group ?? .standard, device: device) }

    var description: String { group.map { "\($0)/\(device)" } ?? "\(device)" }

    /// Returns whether the argument selects the device. Without a group, it selects the device of each group.
    func selects(_ address: DeviceAddress) -> Bool {
        address.device == device && (group ?? address.group) == address.group
    }

    /// Returns the only device that the argument selects.
    /// - Parameters:
    ///   - known: the known devices.
    ///   - option: what precedes the device on the command line, such as `--device `.
    ///   - place: where the devices are known.
    /// - Throws: ``CommandFailure`` if it selects no or several devices.
    func onlyAddress(
        among known: [DeviceAddress], option: String = "--device ", place: String = "in the store"
    ) throws -> DeviceAddress {
        let addresses = try [self].addresses(among: known, place: place).sorted()
        guard addresses.count == 1, let address = addresses.first else {
            throw CommandFailure(
                "several groups have a device '\(self)': use "
                    + addresses.map { "\(option)\($0)" }.joined(separator: " or "))
        }
        return address
    }

    /// Throws if the argument has no group, and a device that is to be removed is not in the default one.
    ///
    /// A command that is repeated after it has removed the device would otherwise remove another one of the same name.
    func checkRemoval(of address: DeviceAddress) throws {
        guard group == nil, address.group != .standard else { return }
        throw CommandFailure("no device '\(self.address)' at this broker: did you mean '\(address)'? Name the group")
    }

    /// Throws if the device is in another group than `--group`, which would select nothing.
    func check(group other: GroupID?) throws {
        guard let group, let other, group != other else { return }
        throw CommandFailure("--device \(self) is not in the group '\(other)': leave out --group")
    }
}

extension [DeviceArgument] {
    /// Returns the devices that are selected.
    /// - Parameters:
    ///   - group: the only group to select from, or nil for all groups.
    ///   - known: the known devices.
    ///   - place: where they are known.
    /// - Throws: ``CommandFailure`` if an argument selects no device, with a suggestion.
    func addresses(
        in group: GroupID? = nil, among known: [DeviceAddress], place: String = "in the store"
    ) throws -> Set<DeviceAddress> {
        var addresses: Set<DeviceAddress> = []
        for argument in self {
            try argument.check(group: group)
            let selected = known.filter { argument.selects($0) && (group ?? $0.group) == $0.group }
            guard !selected.isEmpty else {
                let suggestion = Suggestion.text(for: argument, among: known)
                throw CommandFailure(
                    "no device '\(argument)' \(place)\(suggestion)\(suggestion.isEmpty ? "; list" : " List") devices with "
                        + "'lockstep \(place == "in the store" ? "devices" : "watch")'")
            }
            addresses.formUnion(selected)
        }
        return addresses
    }
}
