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
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - extra: further columns, after these.
    func writer(columns: [SensorStream.Column], extra: [ExportColumn] = []) -> any RowWriter {
        switch self {
        case .text: TableWriter(columns: columns, extra: extra)
        case .csv: CSVWriter(columns: columns.map(ExportColumn.init) + extra)
        case .json: NDJSONWriter(columns: columns.map(ExportColumn.init) + extra)
        }
    }
}
