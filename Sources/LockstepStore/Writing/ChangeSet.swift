import LockstepModel

/// The changes of all devices in the current transaction.
struct ChangeSet {
    private(set) var devices: [DeviceChanges] = []
    /// The position of each device id in `devices`.
    private var positions = NumberMap<Int>()

    var isEmpty: Bool { devices.isEmpty }

    /// Returns the position of a device's changes, which start empty.
    mutating func position(of device: Int64, _ address: DeviceAddress) -> Int {
        if let position = positions[Int(device)] { return position }
        positions[Int(device)] = devices.count
        devices.append(DeviceChanges(address, id: device))
        return devices.count - 1
    }

    /// The changes at a position of this transaction.
    subscript(position: Int) -> DeviceChanges {
        _read { yield devices[position] }
        _modify { yield &devices[position] }
    }

    /// Removes all changes, at the end of the transaction.
    mutating func removeAll() {
        for changes in devices { positions[Int(changes.id)] = nil }
        devices.removeAll(keepingCapacity: true)
    }
}
