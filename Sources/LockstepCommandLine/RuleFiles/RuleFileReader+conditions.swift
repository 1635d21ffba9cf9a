import LockstepModel
import LockstepMotion
import LockstepRules

extension RuleFileReader {
    static let conditions = [
        "value", "speed", "state", "shake", "fall", "orientation", "activity", "steps", "enter", "leave", "dwell",
        "silence", "health",
    ]

    func condition(_ node: YAMLNode, _ name: String) throws -> Condition {
        let fields = try Fields(node, "the condition of rule '\(name)'", file: file)
        let found = Self.conditions.filter(fields.has)
        guard found.count == 1, let kind = found.first else {
            throw fields.failure(
                (found.isEmpty ? "has none" : "has \(found.count)") + " of the keys "
                    + "\(Self.conditions.joined(separator: ", ")): write exactly one")
        }
        switch kind {
        case "value": return .value(try value(fields))
        case "speed": return .value(try speed(fields))
        case "state":
            let states = try fields.values("state") { try choice($0, of: LifecycleState.self) }
            let lasting = try fields.value("for", parseDuration) ?? 0
            try fields.checkKeys(["state", "for"])
            return .state(Set(states), lasting: lasting)
        case "shake", "fall":
            guard try fields.text(kind) == "any" else { throw fields.failure(kind, "expects 'any'") }
            try fields.checkKeys([kind])
            return kind == "shake" ? .shake : .fall
        case "orientation":
            let wanted = try fields.values("orientation") { try choice($0, of: DeviceOrientation.self) }
            let lasting = try fields.value("for", parseDuration) ?? 0
            try fields.checkKeys(["orientation", "for"])
            return .orientation(Set(wanted), lasting: lasting)
        case "activity":
            let wanted = try fields.values("activity") { try choice($0, of: MotionActivity.Kind.self) }
            try fields.checkKeys(["activity"])
            return .activity(Set(wanted))
        case "steps":
            let goal = try fields.value("steps") { try wholeNumber($0, in: 1...10_000_000) } ?? 1
            let zone = try fields.value("zone", timeZone) ?? .utc
            try fields.checkKeys(["steps", "zone"])
            return .steps(Double(goal), zone: zone)
        case "silence":
            let streams = streams
            let stream: SensorStream? =
                try fields.value("silence") { text in
                    if text == "any" { return nil }
                    guard let stream = streams.stream(named: text) else {
                        throw CommandFailure(streams.unknownStreamMessage(for: text) + "; 'any' is any stream")
                    }
                    return stream
                } ?? nil
            guard let lasting = try fields.value("for", parseDuration), lasting > 0 else {
                throw fields.failure("has no 'for': add the time without data, such as 'for: 10m'")
            }
            try fields.checkKeys(["silence", "for"])
            return .silence(stream: stream, lasting: lasting)
        case "health": return .health(try health(fields))
        default: return .place(try place(kind, fields))
        }
    }

    private func value(_ fields: Fields) throws -> ValueCondition {
        let name = try fields.required("value", "pressure.pressure")
        guard let dot = name.lastIndex(of: "."), let stream = streams.stream(named: String(name[..<dot])) else {
            throw fields.failure(
                "value",
                "'\(name)' is not STREAM.COLUMN; streams: \(streams.streams.map(\.name).joined(separator: ", "))")
        }
        let columnName = String(name[name.index(after: dot)...])
        guard let column = stream.columns.firstIndex(where: { $0.name == columnName }) else {
            throw fields.failure(
                "value",
                "'\(columnName)' is not a column of \(stream); columns: "
                    + stream.columns.map(\.name).joined(separator: ", "))
        }
        var condition = try limit(fields, stream, column, number)
        condition.aggregate = try fields.value("aggregate") { try choice($0, of: ValueCondition.Aggregate.self) }
        condition.window = try fields.value("over", parseDuration) ?? 0
        guard (condition.aggregate == nil) == (condition.window == 0) else {
            throw fields.failure("needs both or none of 'aggregate' and 'over'")
        }
        try fields.checkKeys(["value", "above", "below", "clear", "for", "aggregate", "over"])
        return condition
    }

    private func speed(_ fields: Fields) throws -> ValueCondition {
        guard try fields.text("speed") == "any",
            let column = SensorStream.location.columns.firstIndex(where: { $0.name == "speed" })
        else { throw fields.failure("speed", "expects 'any'; add 'above: 30 km/h' or 'below: 2 m/s'") }
        let condition = try limit(fields, .location, column, metresPerSecond)
        try fields.checkKeys(["speed", "above", "below", "clear", "for"])
        return condition
    }

    private func limit(
        _ fields: Fields, _ stream: SensorStream, _ column: Int, _ parse: (String) throws -> Double
    ) throws -> ValueCondition {
        let above = try fields.value("above", parse)
        let below = try fields.value("below", parse)
        guard let limit = above ?? below, above == nil || below == nil else {
            throw fields.failure("needs one of 'above' and 'below'")
        }
        let clear = try fields.value("clear", parse)
        if let clear, above != nil ? clear > limit : clear < limit {
            throw fields.failure("clear", "is beyond the limit \(limit): it is where the condition ends")
        }
        var condition = ValueCondition(
            stream: stream, column: column, isAbove: above != nil, limit: limit, clear: clear)
        condition.lasting = try fields.value("for", parseDuration) ?? 0
        return condition
    }

    private func health(_ fields: Fields) throws -> HealthCondition {
        let kind = try fields.required("health", "gaps")
        switch kind {
        case "gaps", "drops":
            let limit = try fields.value("above") { Int64(try wholeNumber($0, in: 0...1_000_000_000)) } ?? 0
            try fields.checkKeys(["health", "above"])
            return kind == "gaps" ? .gaps(limit) : .drops(limit)
        case "disk":
            guard let share = try fields.value("below", percentage) else {
                throw fields.failure("has no 'below': add the free share, such as 'below: 10 %'")
            }
            try fields.checkKeys(["health", "below"])
            return .disk(share)
        case "clock":
            guard let offset = try fields.value("above", parseDuration) else {
                throw fields.failure("has no 'above': add the difference, such as 'above: 5s'")
            }
            try fields.checkKeys(["health", "above"])
            return .clock(offset)
        default: throw fields.failure("health", "'\(kind)' is not known; use gaps, drops, disk or clock")
        }
    }

    private func place(_ kind: String, _ fields: Fields) throws -> PlaceCondition {
        let name = try fields.required(kind, "home")
        guard let area = places[name] else {
            throw fields.failure(
                kind,
                "'\(name)' is not a place; "
                    + (places.isEmpty
                        ? "add it to the section 'places'"
                        : "known places: \(places.keys.sorted().joined(separator: ", "))"))
        }
        var watched = PlaceCondition.Kind.enter
        var keys = [kind, "accuracy", "hysteresis"]
        if kind == "leave" { watched = .leave }
        if kind == "dwell" {
            guard let lasting = try fields.value("for", parseDuration) else {
                throw fields.failure("has no 'for': add the time at the place, such as 'for: 10m'")
            }
            watched = .dwell(lasting)
            keys.append("for")
        }
        var condition = PlaceCondition(name: name, area: area, kind: watched)
        condition.accuracy = try fields.value("accuracy") { try metres($0, in: 1...100_000) } ?? condition.accuracy
        condition.hysteresis =
            try fields.value("hysteresis") { try metres($0, in: 0...100_000) } ?? condition.hysteresis
        try fields.checkKeys(keys)
        return condition
    }
}

private func number(_ text: String) throws -> Double {
    guard let value = Double(text), value.isFinite else {
        throw CommandFailure("'\(text)' is not a number; write it without a unit, in the unit of the column")
    }
    return value
}

private func metresPerSecond(_ text: String) throws -> Double {
    let parts = text.split(separator: " ")
    let units: [Substring: Double] = ["m/s": 1, "km/h": 1 / 3.6]
    guard parts.count == 2, let value = Double(parts[0]), value.isFinite, let unit = units[parts[1]] else {
        throw CommandFailure("'\(text)' is not a speed; write it as '30 km/h' or '2 m/s'")
    }
    return value * unit
}

private func percentage(_ text: String) throws -> Double {
    let digits = text.hasSuffix("%") ? text.dropLast().split(separator: " ") : []
    guard digits.count == 1, let value = Double(digits[0]), (0...100).contains(value) else {
        throw CommandFailure("'\(text)' is not a share; write it as '10 %'")
    }
    return value / 100
}
