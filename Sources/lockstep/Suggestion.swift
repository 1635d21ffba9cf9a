import ArgumentParser
import LockstepCommandLine
import LockstepModel

/// Suggests a known name for a mistyped one.
enum Suggestion {
    /// Returns `: did you mean 'NAME'?` for the most similar name, or an empty text if none is similar.
    static func text(for name: String, among known: [String]) -> String {
        let candidates = known.map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
        guard let best = candidates.min(by: { $0.distance < $1.distance }), best.distance <= max(1, name.count / 3)
        else { return "" }
        return ": did you mean '\(best.name)'?"
    }

    /// Returns the same for a device: first the devices of this name in other groups.
    static func text(for argument: DeviceArgument, among known: [DeviceAddress]) -> String {
        let others = known.filter { $0.device == argument.device }.sorted().prefix(3)
        guard others.isEmpty else {
            return ": did you mean \(others.map { "'\($0)'" }.joined(separator: " or "))?"
        }
        let names = known.map { argument.group == nil ? $0.device.rawValue : $0.description }
        return text(for: argument.description, among: names.sorted())
    }

    /// Returns the number of inserted, deleted, replaced and swapped characters (optimal string alignment distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replaced = rows[row][column] + (right[column] == left[row] ? 0 : 1)
                var best = min(replaced, rows[row][column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                current.append(best)
            }
            rows.append(current)
        }
        return rows[left.count][right.count]
    }
}

extension StreamCatalog {
    /// Returns the stream with a channel or table of this name.
    /// - Parameter others: further names that would be accepted.
    /// - Throws: ``CommandFailure`` with a suggestion and all names if there is none.
    func knownStream(_ name: String, or others: [String] = []) throws -> SensorStream {
        if let stream = stream(named: name) { return stream }
        let suggestion = Suggestion.text(for: name, among: others + streams.flatMap { [$0.name, $0.table] })
        throw CommandFailure(
            "unknown stream '\(name)'\(suggestion)\(suggestion.isEmpty ? "; known" : " Known") streams: "
                + (streams.map(\.name) + others).joined(separator: ", "))
    }
}

/// Better texts of some errors of ArgumentParser.
enum ParsingMessage {
    /// Returns a better text of an error, or nil if there is none.
    /// - Parameters:
    ///   - message: the text of ArgumentParser, with the usage.
    ///   - arguments: the arguments after the name of the program.
    ///   - root: the command of the program.
    static func improved(_ message: String, of arguments: [String], in root: any ParsableCommand.Type) -> String? {
        let lines = message.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = lines.first, let better = improved(String(first), arguments, root) else { return nil }
        return ([better] + lines.dropFirst().map(String.init)).joined(separator: "\n")
    }

    private static func improved(_ line: String, _ arguments: [String], _ root: any ParsableCommand.Type) -> String? {
        let quoted = line.split(separator: "'", omittingEmptySubsequences: false).map(String.init)
        if line.hasPrefix("Error: Unknown option '--"), quoted.count >= 2 {
            let name = quoted[1].dropFirst(2)
            // ArgumentParser does not suggest options of its own.
            guard Suggestion.distance(String(name), "help") <= 2 else { return nil }
            return "Error: Unknown option '--\(name)'. Did you mean '--help'?"
        }
        if line.contains("had already been set with flag"), quoted.count >= 4 {
            return "Error: use \(quoted[3]) or \(quoted[1]), not both"
        }
        guard line.contains("nexpected argument") else { return nil }
        return unknownSubcommand(arguments, root)
    }

    /// Returns the error for the first argument where a subcommand is expected but another word is given.
    private static func unknownSubcommand(_ arguments: [String], _ root: any ParsableCommand.Type) -> String? {
        var command = root
        var path = [root._commandName]
        for argument in arguments {
            let known = command.configuration.subcommands
            guard !known.isEmpty else { return nil }
            if let next = known.first(where: { $0._commandName == argument }) {
                command = next
                path.append(argument)
                continue
            }
            guard !argument.hasPrefix("-") else { return nil }
            let names = known.map { $0._commandName }
            return "Error: '\(path.joined(separator: " "))' has no subcommand '\(argument)'"
                + Suggestion.text(for: argument, among: names) + "\nUse one of: \(names.joined(separator: ", "))"
        }
        return nil
    }
}
