import ArgumentParser
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepRules
import LockstepWire

struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "Check rules, list them, or test them on samples of the past.",
        discussion: """
            EXAMPLES
              lockstep rules check rules.yaml
              lockstep rules test rules.yaml --store sqlite:samples.db --from -1d
              lockstep rules test rules.yaml --source replay:walk.csv
            """,
        subcommands: [RulesCheckCommand.self, RulesListCommand.self, RulesTestCommand.self])
}

struct RuleFileOptions: ParsableArguments {
    @Argument(help: "YAML file with rules, see docs/rules.md.")
    var file: String

    func rules(_ streams: StreamCatalog) throws -> RuleSet { try readRules(file, streams: streams) }
}

struct RulesCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a file with rules; the exit code is 0 if it has rules and a collector would accept it.")

    @OptionGroup var options: RuleFileOptions

    @Option(help: "YAML file with settings, whose streams rules may name.")
    var config: String?

    func run() throws {
        let settings = try Settings(of: [StreamSection.self], file: config, ignoresUnknownKeys: true)
        let rules = try options.rules(settings.streams)
        guard !rules.rules.isEmpty else {
            throw CommandFailure(
                "\(options.file) has no rules: write them in its section 'rules', see docs/rules.md. A collector would "
                    + "accept the file, but notify about nothing.")
        }
        Terminal.output.write("\(options.file): \(counted(rules.rules.count, "rule")), no errors\n")
    }
}

struct RulesListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the rules of a file.")

    @OptionGroup var options: RuleFileOptions

    @Option(help: "YAML file with settings, whose streams rules may name.")
    var config: String?

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() throws {
        let settings = try Settings(of: [StreamSection.self], file: config, ignoresUnknownKeys: true)
        let rules = try options.rules(settings.streams).rules
        if json {
            for rule in rules { Terminal.output.write(Self.json(rule) + "\n") }
            return
        }
        var table = Table(["RULE", "WHEN", "GROUPS", "DEVICES", "SEVERITY", "TO", "LATE"])
        for rule in rules {
            // A device has to match both.
            table.rows.append([
                .init(rule.name, .bold), .init(rule.condition.summary),
                .init(rule.groups.isEmpty ? "all" : rule.groups.joined(separator: " or ")),
                .init(rule.devices.isEmpty ? "all" : rule.devices.joined(separator: " or ")),
                .init(rule.severity.rawValue),
                .init(rule.ways.isEmpty ? "-" : rule.ways.joined(separator: ", ")), .init(rule.late.rawValue),
            ])
        }
        Terminal.output.write(
            table.rows.isEmpty ? "no rules\n" : table.text(for: .output))
    }

    private static func json(_ rule: Rule) -> String {
        var object = JSONObjectWriter()
        object.member("rule", rule.name)
        object.member("when", rule.condition.summary)
        for (name, texts) in [("groups", rule.groups), ("devices", rule.devices), ("to", rule.ways)] {
            object.member(name, texts) { $0.string($1) }
        }
        object.member("severity", rule.severity.rawValue)
        object.member("late", rule.late.rawValue)
        return String(decoding: object.finish(), as: UTF8.self)
    }
}

extension Condition {
    /// The condition in a few words.
    fileprivate var summary: String {
        switch self {
        case .state(let states, let lasting):
            "state \(states.map(\.rawValue).sorted().joined(separator: "|"))" + Self.duration(lasting)
        case .value(let value):
            (value.aggregate.map { "\($0.rawValue) over \(Self.seconds(value.window)) of " } ?? "")
                + "\(value.stream).\(value.stream.columns[value.column].name) \(value.isAbove ? ">" : "<") \(Self.short(value.limit))"
                + Self.duration(value.lasting)
        case .shake: "shake"
        case .fall: "fall"
        case .orientation(let orientations, let lasting):
            "orientation \(orientations.map(\.rawValue).sorted().joined(separator: "|"))" + Self.duration(lasting)
        case .activity(let wanted): "activity \(wanted.map(\.rawValue).sorted().joined(separator: "|"))"
        case .steps(let goal, let zone): "\(Int(goal)) steps a day (\(zone.name))"
        case .place(let place):
            switch place.kind {
            case .enter: "enter \(place.name)"
            case .leave: "leave \(place.name)"
            case .dwell(let lasting): "at \(place.name)" + Self.duration(lasting)
            }
        case .silence(let stream, let lasting): "no \(stream?.name ?? "data")" + Self.duration(lasting)
        case .health(let health):
            switch health {
            case .gaps(let limit): "more than \(limit) missing batches"
            case .drops(let limit): "more than \(limit) dropped batches"
            case .disk(let share): "less than \(Self.short(share * 100)) % of the disk free"
            case .clock(let offset): "clock off by more than \(Self.seconds(offset))"
            }
        }
    }

    /// Returns a number with at most six significant digits.
    private static func short(_ value: Double) -> String {
        let scale = value == 0 ? 1 : pow(10, 5 - log10(abs(value)).rounded(.down))
        let rounded = (value * scale).rounded() / scale
        guard rounded.isFinite else { return "\(value)" }
        return Int64(exactly: rounded).map(String.init) ?? "\(rounded)"
    }

    private static func duration(_ microseconds: Int64) -> String {
        microseconds > 0 ? " for \(seconds(microseconds))" : ""
    }

    private static func seconds(_ microseconds: Int64) -> String {
        let value = Double(microseconds) / 1e6
        return (Int64(exactly: value).map(String.init) ?? "\(value)") + " s"
    }
}
