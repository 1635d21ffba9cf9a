import LockstepModel
import LockstepWire

extension LiveDevices {
    /// Returns a device as JSON, as in the list of devices.
    /// - Parameter boot: the current time, in µs of the boot clock.
    func json(of device: LiveDevice, at boot: Int64) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 768)
        write(device, to: &object, at: boot)
        object.member("streams", device.sortedStreams) { $0.string($1.stream.name) }
        return object.finish()
    }

    /// Returns a device as JSON with the columns and the newest sample of each stream.
    func detailJSON(of device: LiveDevice, at boot: Int64) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 2048)
        write(device, to: &object, at: boot)
        object.member("streams", device.sortedStreams) { writer, stream in
            writer.object { object in
                object.member("stream", stream.stream.name)
                object.member("columns", stream.stream.columns) { $0.string($1.name) }
                object.member("units", stream.stream.columns) { $0.string($1.unit) }
                object.member("rate", orNull: stream.hasArrived ? rate(of: stream, of: device, at: boot) : nil)
                object.newest(of: stream)
            }
        }
        return object.finish()
    }

    func forgottenJSON(of device: LiveDevice) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("group", device.address.group.rawValue)
        object.member("device", device.address.device.rawValue)
        return object.finish()
    }

    private func write(_ device: LiveDevice, to object: inout JSONObjectWriter, at boot: Int64) {
        object.member("group", device.address.group.rawValue)
        object.member("device", device.address.device.rawValue)
        object.member("state", orNull: device.transition?.to.rawValue)
        object.member("since", orNull: device.transition?.since.microseconds)
        object.member("previous", orNull: device.transition?.from?.rawValue)
        object.member("reason", orNull: device.transition?.reason)
        object.member("seq", device.transition?.seq ?? 0)
        object.member("last_sample", orNull: device.newest?.microseconds)
        object.member("samples", (device.counters?.samples ?? 0) + device.received)
        object.member("stored", orNull: device.counters?.samples)
        object.member("duplicates", orNull: device.counters?.duplicates)
        object.member("conflicts", orNull: device.counters?.conflicts)
        object.member("missing", orNull: device.counters?.missing)
        object.member("on_its_way", orNull: device.counters?.onItsWay)
        object.member("dropped_batches", device.droppedBatches)
        object.member("dropped_samples", device.droppedSamples)
        object.member("rates") { rates in
            for stream in device.sortedStreams {
                let rate = rate(of: stream, of: device, at: boot)
                if rate > 0 { rates.member(stream.stream.name, rounded(rate)) }
            }
        }
        object.member("phase", orNull: device.presence?.phase.rawValue)
        if let sources = device.presence?.sources {
            object.member("sources", sources)
        } else {
            object.nullMember("sources")
        }
        if let calibration = device.presence?.calibration {
            object.member("calibration") { CalibrationJSON.encode(calibration, into: &$0) }
        }
        object.member(device.battery)
        object.member(device.position)
    }
}

/// Returns a rate with three decimals, because further ones are noise.
private func rounded(_ rate: Double) -> Double { (rate * 1000).rounded() / 1000 }

extension JSONObjectWriter {
    /// Writes a member with a number, or null.
    mutating func member(_ name: String, orNull value: Double?) {
        if let value, value.isFinite { member(name, rounded(value)) } else { nullMember(name) }
    }

    fileprivate mutating func newest(of stream: LiveStream) {
        guard let time = stream.newestTime, stream.newestValues.count == stream.stream.columns.count else {
            return nullMember("newest")
        }
        member("newest") { object in
            object.member("t", time.microseconds)
            object.member("values") { values in
                for (column, value) in zip(stream.stream.columns, stream.newestValues) {
                    values.member(column.name, value, kind: column.kind)
                }
            }
        }
    }

    fileprivate mutating func member(_ battery: LiveBattery?) {
        guard let battery else { return nullMember("battery") }
        member("battery") { object in
            object.member("level", exactly: battery.level)
            if let isCharging = battery.isCharging {
                object.member("charging", isCharging)
            } else {
                object.nullMember("charging")
            }
            object.member("t", battery.at.microseconds)
        }
    }

    fileprivate mutating func member(_ position: LivePosition?) {
        guard let position else { return nullMember("position") }
        member("position") { object in
            object.member("lat", exactly: position.latitude)
            object.member("lon", exactly: position.longitude)
            object.member("hacc", exactly: position.accuracy)
            object.member("alt", exactly: position.altitude)
            object.member("speed", exactly: position.speed)
            object.member("course", exactly: position.course)
            object.member("t", position.at.microseconds)
        }
    }

    private mutating func member(_ name: String, exactly value: Double?) {
        if let value, value.isFinite { member(name, value) } else { nullMember(name) }
    }
}

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
        object.member("rules", health.rules ?? [:])
        object.member("places") { CollectorHealth.Place.write(health.places ?? [:], to: &$0) }
        return object.finish()
    }
}

/// The JSON of a device's state for subscribers.
enum StateChangeJSON {
    /// Encodes a transition.
    /// - Parameter isSnapshot: whether this is the present state of the device instead of a change.
    static func encode(_ transition: LifecycleTransition, of address: DeviceAddress, isSnapshot: Bool) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("group", address.group.rawValue)
        object.member("device", address.device.rawValue)
        object.member("state", transition.to.rawValue)
        object.member("previous", orNull: transition.from?.rawValue)
        object.member("reason", transition.reason)
        object.member("since", transition.since.microseconds)
        object.member("seq", transition.seq)
        object.member("snapshot", isSnapshot)
        return object.finish()
    }
}

/// The JSON of samples for subscribers: the members of the wire format, with the names of device and stream.
enum SampleJSON {
    static func encode(_ samples: SampleBlock, of address: DeviceAddress) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 160 + samples.count * (samples.columns.count * 20 + 8))
        object.member("group", address.group.rawValue)
        object.member("device", address.device.rawValue)
        object.member("stream", samples.stream.name)
        object.members(of: samples)
        return object.finish()
    }

    /// Returns the approximate size of samples in JSON, in bytes.
    static func estimatedBytes(of stream: SensorStream) -> Int { 8 + 20 * stream.columns.count }
}
