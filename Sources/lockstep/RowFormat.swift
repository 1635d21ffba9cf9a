import ArgumentParser
import LockstepExport
import LockstepModel

/// The output format of samples.
enum RowFormat: String, EnumerableFlag {
    case text, csv, json

    static func name(for value: RowFormat) -> NameSpecification { value == .text ? .customLong("text") : .long }

    static func help(for value: RowFormat) -> ArgumentHelp? {
        switch value {
        case .text: "Print an aligned table."
        case .csv: "Print CSV with a header; unknown values are empty."
        case .json: "Print one JSON object per line; unknown values are null."
        }
    }

    /// Creates a writer of this format.
    /// - Parameter columns: the columns after device and time.
    func writer(columns: [SensorStream.Column]) -> any RowWriter {
        switch self {
        case .text: TableWriter(columns: columns)
        case .csv: CSVWriter(columns: columns.map(ExportColumn.init))
        case .json: NDJSONWriter(columns: columns.map(ExportColumn.init))
        }
    }
}
