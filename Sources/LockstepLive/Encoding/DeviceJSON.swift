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

    /// Returns the address of a forgotten device as JSON.
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
