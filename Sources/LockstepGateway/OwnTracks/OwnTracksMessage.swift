import LockstepModel

struct OwnTracksMessage {
    private let content: JSONValue
    private let type: String
    private let isRetained: Bool
    private let receivedAt: Timestamp

    /// - Throws: ``Refusal`` if it is not an object with a `_type`.
    init(_ content: JSONValue, isRetained: Bool, receivedAt: Timestamp) throws(Refusal) {
        guard let type = content["_type"]?.string else {
            throw Refusal(.malformed, "the message is not an object with a '_type'")
        }
        self.content = content
        self.type = type
        self.isRetained = isRetained
        self.receivedAt = receivedAt
    }

    /// Adds the content to a report. Unknown types have nothing to store. Optional parts that cannot be read are left out.
    /// - Throws: ``Refusal`` if a part is missing without which the rest has no meaning.
    func add(to report: inout ForeignReport) throws(Refusal) {
        var fields = FieldReader(content, "the \(type.prefix(20))")
        defer { report.omissions += fields.omissions }
        // The time at which the message was written. That of a fix may be hours before, if the phone has not moved.
        let created = fields.time("created_at", in: .seconds)
        var written = created
        switch type {
        case "location": written = try addLocation(&fields, created: created, to: &report)
        case "transition": written = try addTransition(&fields, created: created, to: &report)
        case "waypoint": try addWaypoint(&fields, content, to: &report)
        case "waypoints": addWaypoints(to: &report)
        case "steps": written = try addSteps(&fields, created: created, to: &report)
        case "lwt":
            // A retained one may be older than messages that were not retained. Its 'tst' is the time at which the
            // device had connected.
            if !isRetained { report.presence = ForeignPresence(.background, reason: "lwt") }
        case "status": note(.foreground, "status", in: &report)
        default: break
        }
        if let written = written.map(Timestamp.init(microseconds:)) {
            report.writtenAt = max(report.writtenAt ?? written, written)
        }
    }

    private func note(_ phase: Phase, _ reason: String, in report: inout ForeignReport) {
        if !isRetained { report.presence = ForeignPresence(phase, reason: reason) }
    }

    /// Adds a location. Each value has the time at which it was measured: position and movement that of the fix, all others
    /// that of the message. A position that cannot be read does not cost the others. A message without a time of its own
    /// has that of the fix, unless the gateway has already seen this fix: see ``ForeignReport/timeOfFix``.
    /// - Returns: the time at which the message was written.
    private func addLocation(
        _ fields: inout FieldReader, created: Int64?, to report: inout ForeignReport
    ) throws(Refusal) -> Int64 {
        let count = report.readings.count
        var fixed: Int64?
        var problem: Refusal?
        do {
            let time = try self.time(content["tst"], "tst")
            fixed = time
            var location = Reading("location", at: time)
            try setPosition(of: content, in: &location)
            location.set("alt", fields.number("alt"))
            location.set("hacc", fields.notNegative("acc"))
            location.set("vacc", fields.notNegative("vac"))
            // km/h
            location.set("speed", fields.notNegative("vel").map { $0 / 3.6 })
            location.set("course", fields.notNegative("cog", atMost: 360))
            report.readings.append(location)
        } catch { problem = error }
        if created == nil { report.timeOfFix = fixed }
        guard let time = created ?? fixed else { throw problem ?? Refusal(.malformed, "the location has no time") }
        addBattery(&fields, at: time, to: &report)
        // kPa
        if let pressure = fields.notNegative("p") {
            var reading = Reading("pressure", at: time)
            reading.set("pressure", pressure * 10)
            report.readings.append(reading)
        }
        addCircumstances(&fields, at: time, to: &report)
        if let problem {
            guard report.readings.count > count else { throw problem }
            report.omissions.append(problem.description)
        }
        note(.foreground, trigger ?? "location", in: &report)
        return time
    }

    private func addBattery(_ fields: inout FieldReader, at time: Int64, to report: inout ForeignReport) {
        let level = fields.notNegative("batt", atMost: 100).map { $0 / 100 }
        let states = ["unknown", "discharging", "charging", "full"]
        let state = fields.number("bs", in: 0...3).flatMap { Int(exactly: $0) }.map { states[$0] }
        guard level != nil || (state != nil && state != "unknown") else { return }
        var battery = Reading("battery", at: time)
        battery.set("level", level)
        battery.set("state", word: state ?? "unknown")
        report.readings.append(battery)
    }

    private static let triggers = [
        "p": "ping", "c": "region", "C": "follow", "b": "beacon", "r": "response", "u": "manual", "t": "timer",
        "v": "visit",
    ]

    /// The reason for a location, in words.
    private var trigger: String? { content["t"]?.string.flatMap { Self.triggers[$0] } }

    private func addCircumstances(_ fields: inout FieldReader, at time: Int64, to report: inout ForeignReport) {
        var reading = Reading("x/owntracks/report", at: time)
        reading.set("cause", word: fields.word("t", of: Self.triggers))
        reading.set("conn", word: fields.word("conn", of: ["w": "wifi", "m": "mobile", "o": "offline"]))
        reading.set("mode", fields.number("m"))
        reading.set("regions", fields.count("inregions"))
        if !reading.values.isEmpty { report.readings.append(reading) }
    }

    private func addTransition(
        _ fields: inout FieldReader, created: Int64?, to report: inout ForeignReport
    ) throws(Refusal) -> Int64 {
        let time = try time(content["tst"], "tst")
        guard let event = content["event"]?.string, event == "enter" || event == "leave" else {
            throw Refusal(.malformed, "'event' is neither enter nor leave")
        }
        var reading = Reading("x/owntracks/transition", at: time)
        reading.set("event", word: event)
        // An event without its position is still an event.
        if content["lat"] ?? .null != .null || content["lon"] ?? .null != .null {
            do { try setPosition(of: content, in: &reading) } catch { report.omissions.append(error.description) }
        }
        reading.set("acc", fields.notNegative("acc"))
        reading.set("waypoint", fields.time("wtst", in: .seconds).map(Double.init))
        report.readings.append(reading)
        note(.foreground, event, in: &report)
        return created ?? time
    }

    /// Adds the waypoints of a list. One that cannot be read is left out.
    private func addWaypoints(to report: inout ForeignReport) {
        for item in content["waypoints"]?.array ?? [] {
            var fields = FieldReader(item, "a waypoint")
            do { try addWaypoint(&fields, item, to: &report) } catch { report.omissions.append(error.description) }
            report.omissions += fields.omissions
        }
    }

    private func addWaypoint(
        _ fields: inout FieldReader, _ waypoint: JSONValue, to report: inout ForeignReport
    ) throws(Refusal) {
        // Without a position it is the waypoint of a beacon.
        guard waypoint["lat"] != nil, waypoint["lon"] != nil else { return }
        var reading = Reading("x/owntracks/waypoint", at: try time(waypoint["tst"], "tst"))
        try setPosition(of: waypoint, in: &reading)
        reading.set("radius", fields.notNegative("rad"))
        report.readings.append(reading)
    }

    /// Adds a count of steps. The app sends running totals of a day, also of one that has ended: the time of a count is
    /// that of the message, so that each is a row of its own and the newest one counts.
    private func addSteps(
        _ fields: inout FieldReader, created: Int64?, to report: inout ForeignReport
    ) throws(Refusal) -> Int64? {
        // −1 where the device does not count steps.
        guard let steps = fields.notNegative("steps") else { return created }
        let from = try time(content["from"], "from")
        let to = try time(content["to"], "to")
        let told = fields.time("tst", in: .seconds) ?? created ?? receivedAt.microseconds
        var reading = Reading("x/owntracks/steps", at: told)
        reading.set("from_time", Double(from))
        reading.set("to_time", Double(to))
        reading.set("steps", steps)
        reading.set("distance", fields.notNegative("distance"))
        reading.set("up", fields.notNegative("floorsup"))
        reading.set("down", fields.notNegative("floorsdown"))
        if !report.replace(reading) { report.readings.append(reading) }
        note(.foreground, "steps", in: &report)
        return created ?? told
    }

    private func time(_ value: JSONValue?, _ name: String) throws(Refusal) -> Int64 {
        let place = "'\(name)' of the \(type.prefix(20))"
        let time: Int64
        do { time = try TimeUnit.seconds.microseconds(of: value) } catch {
            throw Refusal(.malformed, error.text(place))
        }
        guard time > 0 else { throw Refusal(.malformed, "\(place) is not after 1970") }
        return time
    }

    private func setPosition(of object: JSONValue, in reading: inout Reading) throws(Refusal) {
        for (name, limit) in [("lat", 90.0), ("lon", 180.0)] {
            let place = "'\(name)' of the \(type.prefix(20))"
            guard let value = object[name], value != .null else { throw Refusal(.malformed, "\(place) is missing") }
            guard let number = value.readableNumber else {
                throw Refusal(.malformed, "\(place) is \(value.excerpt), which is no number")
            }
            guard abs(number) <= limit else {
                throw Refusal(.malformed, "\(place) is \(value.excerpt), which is out of range")
            }
            reading.set(name, number)
        }
    }
}
