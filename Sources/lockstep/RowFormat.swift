import ArgumentParser

/// How samples are written.
enum RowFormat: String, EnumerableFlag {
    case text, csv, json

    static func name(for value: RowFormat) -> NameSpecification { value == .text ? .customLong("text") : .long }

    static func help(for value: RowFormat) -> ArgumentHelp? {
        switch value {
        case .text: "A table for people (default)."
        case .csv: "CSV with a header; a value that is not known is empty."
        case .json: "One JSON object a line; a value that is not known is null."
        }
    }
}
