import ArgumentParser

/// The output format of samples.
enum RowFormat: String, EnumerableFlag {
    case text, csv, json

    static func name(for value: RowFormat) -> NameSpecification { value == .text ? .customLong("text") : .long }

    static func help(for value: RowFormat) -> ArgumentHelp? {
        switch value {
        case .text: "Print an aligned table (default)."
        case .csv: "Print CSV with a header; unknown values are empty."
        case .json: "Print one JSON object per line; unknown values are null."
        }
    }
}
