import FoundationEssentials
public import LockstepModel
import LockstepMotion
public import LockstepRules

/// Reads the rules of a YAML file.
///
/// - Parameters:
///   - path: the file.
///   - streams: the streams that rules may name.
/// - Throws: ``/LockstepCommandLine/CommandFailure`` with the file, the line, the problem and what to do. Unknown keys,
///   values and units are errors.
public func readRules(_ path: String, streams: StreamCatalog = .builtIn) throws -> RuleSet {
    try parseRules(TextFile.read(path, "the rules"), file: path, streams: streams)
}

/// Reads rules from a YAML text; `file` is its name in errors.
public func parseRules(_ text: String, file: String, streams: StreamCatalog = .builtIn) throws -> RuleSet {
    let root: YAMLNode?
    do { root = try YAMLNode.read(text) } catch { throw CommandFailure("\(file):\(error)") }
    guard let root else { return RuleSet() }
    let fields = try Fields(root, "the file", file: file)
    try fields.checkKeys(["rules", "places", "targets"])
    var reader = RuleFileReader(file: file, streams: streams)
    if let places = fields.node("places") { try reader.readPlaces(places) }
    if let targets = fields.node("targets") { try reader.readTargets(targets) }
    if let rules = fields.node("rules") { try reader.readRules(rules) }
    return reader.set
}

struct RuleFileReader {
    let file: String
    let streams: StreamCatalog
    var set = RuleSet()
    var places: [String: Area] = [:]
    /// The names of the ways of each target.
    var targets: [String: [String]] = [:]

    static let ruleKeys = [
        "when", "groups", "devices", "severity", "schedule", "cooldown", "late", "late-after", "to", "message",
    ]

    mutating func readRules(_ node: YAMLNode) throws {
        let rules = try Fields(node, "'rules'", file: file)
        for (name, node, _) in rules.entries {
            try check(name, rules)
            set.rules.append(try rule(name, node))
        }
    }

    private func rule(_ name: String, _ node: YAMLNode) throws -> Rule {
        let fields = try Fields(node, "rule '\(name)'", file: file)
        guard let when = fields.node("when") else {
            throw fields.failure("has no 'when': add a condition, such as 'when: {silence: any, for: 10m}'")
        }
        var rule = Rule(name: name, condition: try condition(when, name))
        rule.groups = try fields.values("groups") { try GroupID(validating: $0).rawValue }
        rule.devices = try fields.texts("devices")
        if let node = fields.node("schedule") { rule.schedule = try schedule(node, name) }
        rule.severity = try fields.value("severity") { try choice($0, of: Severity.self) } ?? .warning
        rule.cooldown = try fields.value("cooldown", parseDuration) ?? 0
        rule.late = try fields.value("late") { try choice($0, of: Rule.LatePolicy.self) } ?? .mark
        rule.lateAfter = try fields.value("late-after", parseDuration) ?? rule.lateAfter
        rule.message = try fields.value("message") { try checkPlaceholders($0, Rule.messagePlaceholders) }
        let targets = targets
        let ways = try fields.values("to") { target in
            guard let ways = targets[target] else {
                throw CommandFailure(
                    "'\(target)' is not a target; "
                        + (targets.isEmpty
                            ? "add it to the section 'targets'"
                            : "known targets: \(targets.keys.sorted().joined(separator: ", "))"))
            }
            return ways
        }
        rule.ways = ways.flatMap { $0 }
        if case .health(.disk) = rule.condition, rule.ways.contains(where: { set.ways[$0]?.kind == "record" }) {
            throw fields.failure("to", "the condition is about no device, so it cannot change sessions")
        }
        try fields.checkKeys(Self.ruleKeys)
        return rule
    }

    private func schedule(_ node: YAMLNode, _ name: String) throws -> Schedule {
        let fields = try Fields(node, "the schedule of rule '\(name)'", file: file)
        var schedule = Schedule()
        let names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        schedule.days = Set(
            try fields.values("days") { text in
                guard let index = names.firstIndex(of: text) else {
                    throw CommandFailure("'\(text)' is not a day; use \(names.joined(separator: ", "))")
                }
                return index
            })
        schedule.start = try fields.value("from", minutes) ?? 0
        schedule.end = try fields.value("to", minutes) ?? 1440
        schedule.zone = try fields.value("zone", timeZone) ?? .utc
        try fields.checkKeys(["days", "from", "to", "zone"])
        return schedule
    }

    func check(_ name: String, _ fields: Fields) throws {
        guard !name.isEmpty, name.utf8.count <= 64,
            name.utf8.allSatisfy({ byte in
                byte < 128 && (Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ".")
            })
        else {
            throw fields.failure(name, "is not a name: use at most 64 letters, digits, '-', '_' and '.'")
        }
    }
}

/// Parses a time of day, `08:30`, and returns minutes after midnight.
private func minutes(_ text: String) throws -> Int {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let hour = Int(parts[0]), let minute = Int(parts[1]), parts.allSatisfy({ $0.count == 2 }),
        (0...24).contains(hour), (0...59).contains(minute), hour < 24 || minute == 0
    else { throw CommandFailure("'\(text)' is not a time of day; write it as 08:30, from 00:00 to 24:00") }
    return hour * 60 + minute
}

/// Reads a time zone of this machine.
func timeZone(_ name: String) throws -> TimeZoneRules {
    guard name != "UTC" else { return .utc }
    let isSafe = !name.hasPrefix("/") && !name.split(separator: "/").contains("..")
    guard isSafe, let data = try? Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/\(name)")),
        let zone = TimeZoneRules(name: name, file: [UInt8](data))
    else {
        throw CommandFailure(
            "'\(name)' is not a time zone of this machine; use a name such as Europe/Berlin, and install tzdata")
    }
    return zone
}

extension RuleFileReader {
    mutating func readPlaces(_ node: YAMLNode) throws {
        let fields = try Fields(node, "'places'", file: file)
        for (name, node, _) in fields.entries {
            try check(name, fields)
            places[name] = try area(node, name)
        }
    }

    private func area(_ node: YAMLNode, _ name: String) throws -> Area {
        let fields = try Fields(node, "place '\(name)'", file: file)
        let area: Area
        if let centre = fields.node("center") {
            guard let coordinate = coordinate(centre) else {
                throw fields.failure("center", "expects [latitude, longitude] in degrees")
            }
            guard let radius = try fields.value("radius", { try metres($0, in: 1...1_000_000) }) else {
                throw fields.failure("has no 'radius': add it in metres, such as 'radius: 100'")
            }
            area = .circle(coordinate, radius: radius)
        } else if let polygon = fields.node("polygon") {
            guard case .sequence(let items) = polygon.content, items.count >= 3 else {
                throw fields.failure("polygon", "expects a list of at least three corners [latitude, longitude]")
            }
            area = .polygon(
                try items.map { item in
                    guard let corner = coordinate(item) else {
                        throw fields.failure("polygon", "line \(item.line) is not [latitude, longitude] in degrees")
                    }
                    return corner
                })
        } else {
            throw fields.failure("has no area: write 'center' with 'radius', or 'polygon'")
        }
        try fields.checkKeys(fields.has("center") ? ["center", "radius"] : ["polygon"])
        return area
    }

    private func coordinate(_ node: YAMLNode) -> Coordinate? {
        guard case .sequence(let items) = node.content, items.count == 2,
            let latitude = items[0].scalar.flatMap(Double.init), let longitude = items[1].scalar.flatMap(Double.init)
        else { return nil }
        let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        return coordinate.isValid ? coordinate : nil
    }
}
