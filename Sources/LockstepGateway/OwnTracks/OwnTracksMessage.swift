import LockstepModel

/// One decrypted OwnTracks message.
struct OwnTracksMessage {
    private let content: JSONValue
    private let type: String
    private let isRetained: Bool

    /// - Throws: ``Refusal`` if it is not an object with a `_type`.
    init(_ content: JSONValue, isRetained: Bool) throws(Refusal) {
        guard let type = content["_type"]?.string else {
            throw Refusal(.malformed, "the message is not an object with a '_type'")
        }
        self.content = content
        self.type = type
        self.isRetained = isRetained
    }

    /// Adds the content to a report. Unknown types have nothing to store.
    func add(to report: inout ForeignReport) throws(Refusal) {
        switch type {
        case "location": try addLocation(to: &report)
        case "transition": try addTransition(to: &report)
        case "waypoint": try addWaypoint(content, to: &report)
        case "waypoints":
            for item in content["waypoints"]?.array ?? [] { try addWaypoint(item, to: &report) }
        case "steps": try addSteps(to: &report)
        case "lwt":
            // A retained one may be older than messages that were not retained. Its 'tst' is the time at which the
            // device had connected.
            if !isRetained { report.presence = ForeignPresence(.background, reason: "lwt") }
        case "status": note(.foreground, "status", in: &report)
        default: break
        }
    }

    private func note(_ phase: Phase, _ reason: String, in report: inout ForeignReport) {
        if !isRetained { report.presence = ForeignPresence(phase, reason: reason) }
    }

    private func addLocation(to report: inout ForeignReport) throws(Refusal) {
        let time = try time(content["tst"])
        var location = Reading("location", at: time)
        try setPosition(of: content, in: &location)
        location.set("alt", content["alt"]?.number)
        location.set("hacc", notNegative("acc"))
        location.set("vacc", notNegative("vac"))
        // km/h
        location.set("speed", notNegative("vel").map { $0 / 3.6 })
        location.set("course", notNegative("cog").flatMap { $0 <= 360 ? $0 : nil })
        report.readings.append(location)
        addBattery(at: time, to: &report)
        // kPa
        if let pressure = notNegative("p") {
            var reading = Reading("pressure", at: time)
            reading.set("pressure", pressure * 10)
            report.readings.append(reading)
        }
        addCircumstances(at: time, to: &report)
        let written = ForeignTime.microseconds(seconds: content["created_at"]) ?? time
        report.writtenAt = max(report.writtenAt ?? Timestamp(microseconds: written), Timestamp(microseconds: written))
        note(.foreground, trigger ?? "location", in: &report)
    }

    private func addBattery(at time: Int64, to report: inout ForeignReport) {
        let level = content["batt"]?.number.flatMap { (0...100).contains($0) ? $0 / 100 : nil }
        let states = ["unknown", "discharging", "charging", "full"]
        let state = content["bs"]?.integer.flatMap { (0...3).contains($0) ? states[Int($0)] : nil }
        guard level != nil || (state != nil && state != "unknown") else { return }
        var battery = Reading("battery", at: time)
        battery.set("level", level)
        battery.set("state", word: state ?? "unknown")
        report.readings.append(battery)
    }

    /// The reason for a location, in words.
    private var trigger: String? {
        switch content["t"]?.string {
        case "p": "ping"
        case "c": "region"
        case "C": "follow"
        case "b": "beacon"
        case "r": "response"
        case "u": "manual"
        case "t": "timer"
        case "v": "visit"
        default: nil
        }
    }

    private func addCircumstances(at time: Int64, to report: inout ForeignReport) {
        var reading = Reading("x/owntracks/report", at: time)
        reading.set("cause", word: trigger)
        let connections = ["w": "wifi", "m": "mobile", "o": "offline"]
        reading.set("conn", word: content["conn"]?.string.flatMap { connections[$0] })
        reading.set("mode", content["m"]?.integer.map(Double.init))
        reading.set("regions", content["inregions"]?.array.map { Double($0.count) })
        if !reading.values.isEmpty { report.readings.append(reading) }
    }

    private func addTransition(to report: inout ForeignReport) throws(Refusal) {
        let time = try time(content["tst"])
        guard let event = content["event"]?.string, event == "enter" || event == "leave" else {
            throw Refusal(.malformed, "'event' is neither enter nor leave")
        }
        var reading = Reading("x/owntracks/transition", at: time)
        reading.set("event", word: event)
        if content["lat"] != nil || content["lon"] != nil { try setPosition(of: content, in: &reading) }
        reading.set("acc", notNegative("acc"))
        reading.set("waypoint", ForeignTime.microseconds(seconds: content["wtst"]).map(Double.init))
        report.readings.append(reading)
        report.writtenAt = report.writtenAt ?? Timestamp(microseconds: time)
        note(.foreground, event, in: &report)
    }

    private func addWaypoint(_ waypoint: JSONValue, to report: inout ForeignReport) throws(Refusal) {
        // Without a position it is the waypoint of a beacon.
        guard waypoint["lat"] != nil, waypoint["lon"] != nil else { return }
        var reading = Reading("x/owntracks/waypoint", at: try time(waypoint["tst"]))
        try setPosition(of: waypoint, in: &reading)
        reading.set("radius", waypoint["rad"]?.number.flatMap { $0 >= 0 ? $0 : nil })
        report.readings.append(reading)
    }

    private func addSteps(to report: inout ForeignReport) throws(Refusal) {
        // −1 where the device does not count steps.
        guard let steps = content["steps"]?.integer, steps >= 0 else { return }
        let from = try time(content["from"])
        var reading = Reading("x/owntracks/steps", at: try time(content["to"]))
        reading.set("from_time", Double(from))
        reading.set("steps", Double(steps))
        reading.set("distance", notNegative("distance"))
        reading.set("up", notNegative("floorsup"))
        reading.set("down", notNegative("floorsdown"))
        report.readings.append(reading)
        note(.foreground, "steps", in: &report)
    }

    private func notNegative(_ name: String) -> Double? { content[name]?.number.flatMap { $0 >= 0 ? $0 : nil } }

    private func time(_ value: JSONValue?) throws(Refusal) -> Int64 {
        guard let time = ForeignTime.microseconds(seconds: value), time > 0 else {
            throw Refusal(.malformed, "a time of the \(type.prefix(20)) is missing or out of range")
        }
        return time
    }

    private func setPosition(of object: JSONValue, in reading: inout Reading) throws(Refusal) {
        guard let lat = object["lat"]?.number, let lon = object["lon"]?.number, (-90...90).contains(lat),
            (-180...180).contains(lon)
        else { throw Refusal(.malformed, "'lat' or 'lon' of the \(type.prefix(20)) is missing or out of range") }
        reading.set("lat", lat)
        reading.set("lon", lon)
    }
}
