public import LockstepModel

extension LivePicture {
    /// Returns the devices of a group as the JSON object `{"at":…,"devices":[…]}`, sorted by group and name.
    /// - Parameter group: the group; nil for all.
    public func devicesJSON(group: GroupID? = nil, at moment: Moment = .now()) -> [UInt8] {
        // A copy shares the memory of the picture. It is encoded without the lock.
        let devices = read { copy $0 }
        var list: [UInt8] = []
        for device in devices.devices.sorted(by: { $0.address < $1.address })
        where group ?? device.address.group == device.address.group {
            if !list.isEmpty { list.append(UInt8(ascii: ",")) }
            list += devices.json(of: device, at: moment.boot)
        }
        return DeviceDeliveries.json(list, at: moment.wall)
    }

    /// Returns a device as a JSON object, with the columns and the newest sample of each stream.
    /// - Returns: nil if the device is unknown.
    public func deviceJSON(_ address: DeviceAddress, at moment: Moment = .now()) -> [UInt8]? {
        read { devices in devices[address].map { devices.detailJSON(of: $0, at: moment.boot) } }
    }

    /// Returns the collectors with their health as a JSON array, sorted by group and name.
    public var collectorsJSON: [UInt8] { read { $0.collectorsJSON } }
}
