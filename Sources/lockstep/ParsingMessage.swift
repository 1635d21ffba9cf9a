import ArgumentParser
import LockstepCommandLine

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
