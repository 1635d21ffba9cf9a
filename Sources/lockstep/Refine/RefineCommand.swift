import ArgumentParser

struct RefineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refine",
        abstract: "Compute more accurate data from stored samples, with hindsight.",
        discussion: """
            Results are stored in tables of their own, in the store given with --store; samples are not changed. A \
            collector may be running. An SQLite store must be writable. The user of a ClickHouse store needs CREATE, \
            INSERT, SELECT and ALTER DELETE.
            """,
        subcommands: [RefineAttitudeCommand.self, RefineStepsCommand.self, RefineTrackCommand.self])
}
