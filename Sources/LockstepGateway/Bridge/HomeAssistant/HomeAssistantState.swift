import LockstepModel
import LockstepWire

/// The messages with the values of a device. Unknown values are null.
enum HomeAssistantState {
    /// Returns the values of all entities except for the position.
    /// - Parameter streams: the streams each of whose columns has an entity.
    static func values(
        of device: HomeAssistantDevice, measuring streams: [SensorStream], at now: Timestamp
    ) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("state", orNull: device.transition?.to.rawValue)
        object.member("since", orNull: device.transition?.since.description)
        object.member("reason", orNull: device.transition?.reason)
        object.member("connected", device.isConnected ? "ON" : "OFF")
        object.member("moving", orNull: device.isMoving(at: now).map { $0 ? "ON" : "OFF" })
        object.member("battery", orNull: device.battery?.level.map { Int64(($0.clamped() * 100).rounded()) })
        object.member("charging", orNull: device.battery?.isCharging.map { $0 ? "ON" : "OFF" })
        object.member("steps", orNull: device.steps.isKnown ? device.steps.steps : nil)
        if let distance = device.steps.distance {
            object.member("distance", (distance * 10).rounded() / 10)
        } else {
            object.nullMember("distance")
        }
        for stream in streams {
            for column in stream.columns where !column.isTime {
                let key = HomeAssistantEntity.key(of: column, in: stream)
                guard let value = device.measurements[key]?.value else {
                    object.nullMember(key)
                    continue
                }
                switch column.kind {
                case .real: object.member(key, (value * 1e4).rounded() / 1e4)
                case .integer: object.member(key, Int64(value))
                case .choice(let words): object.member(key, words[Int(value)])
                }
            }
        }
        object.member("last_sample", orNull: device.newest.map { Timestamp(microseconds: $0).description })
        return object.finish()
    }

    /// Returns the attributes of the device tracker, or nil without a position.
    static func location(of device: HomeAssistantDevice) -> [UInt8]? {
        guard let fix = device.fix, abs(fix.latitude) <= 90, abs(fix.longitude) <= 180 else { return nil }
        var object = JSONObjectWriter()
        object.member("latitude", fix.latitude)
        object.member("longitude", fix.longitude)
        // Home Assistant ignores a position without an accuracy.
        object.member("gps_accuracy", (fix.accuracy ?? 0).rounded(.up))
        if let altitude = fix.altitude { object.member("altitude", altitude) }
        if let speed = fix.speed { object.member("speed", speed) }
        if let course = fix.course { object.member("course", course) }
        object.member("time", Timestamp(microseconds: fix.time).description)
        return object.finish()
    }
}

extension Double {
    fileprivate func clamped() -> Double { min(1, max(0, self)) }
}
