import ArgumentParser

struct RefineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refine",
        abstract: "Compute more accurate data from stored samples, with hindsight.",
        discussion: """
            Results are stored in tables of their own; samples are not changed. A collector may be running.
            """,
        subcommands: [RefineAttitudeCommand.self, RefineStepsCommand.self, RefineTrackCommand.self])
}
