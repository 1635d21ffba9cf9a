import LockstepModel
import LockstepWire

extension LiveDevices {
    /// Returns the collectors with their health as a JSON array, sorted by group and name.
    public var collectorsJSON: [UInt8] {
        var bytes = Array("[".utf8)
        for (address, health) in collectors.sorted(by: { $0.key < $1.key }) {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes += json(of: health, address)
        }
        return bytes + "]".utf8
    }

    private func json(of health: CollectorHealth, _ address: CollectorAddress) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 512)
        object.member("group", address.group.rawValue)
        object.member("collector", address.collector.rawValue)
        object.member("status", health.status.rawValue)
        object.member("at", health.at.microseconds)
        object.member("problem", orNull: health.problem)
        if let groups = health.groups {
            object.member("groups", groups) { $0.string($1) }
        } else {
            object.nullMember("groups")
        }
        object.member("devices", Int64(health.devices))
        object.member("stored", Int64(health.stored))
        object.member("duplicates", Int64(health.duplicates))
        object.member("conflicts", Int64(health.conflicts))
        object.member("rejected", Int64(health.rejected))
        object.member("dropped", orNull: health.dropped)
        object.member("version", orNull: health.version)
        object.member("started", orNull: health.started?.microseconds)
        object.member("memory", orNull: health.memory.map(Int64.init))
        object.member("memory_peak", orNull: health.memoryPeak.map(Int64.init))
        if let space = health.space {
            object.member("space") { space.write(to: &$0) }
        } else {
            object.nullMember("space")
        }
        return object.finish()
    }
}
