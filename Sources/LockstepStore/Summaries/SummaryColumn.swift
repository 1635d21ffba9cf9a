package import LockstepModel

/// A number that summarises the values of a column in a time span. Summaries of parts of a span can be combined.
package struct SummaryColumn: Hashable, Sendable {
    /// What is computed from the known values of a column.
    package enum Part: String, CaseIterable, Sendable {
        case sum, count, min, max
        /// The sum of longitudes, with 360° added to negative ones. See ``SensorStream/Aggregate/meanLongitude``.
        case east
    }

    /// The column of the stream.
    package let column: SensorStream.Column
    package let part: Part

    package init(column: SensorStream.Column, part: Part) {
        self.column = column
        self.part = part
    }

    /// The name of the column in the table of summaries.
    package var name: String { "\(column.name)_\(part.rawValue)" }

    /// Returns the number of two parts of a span together. NaN stands for no known value.
    package func combined(_ first: Double, _ second: Double) -> Double {
        if first.isNaN { return second }
        if second.isNaN { return first }
        return switch part {
        case .sum, .count, .east: first + second
        case .min: Swift.min(first, second)
        case .max: Swift.max(first, second)
        }
    }
}

extension SensorStream {
    /// The columns with numbers.
    private var numbers: [Column] { columns.filter { $0.kind.words == nil } }

    /// The columns of the table of summaries.
    package var summaryColumns: [SummaryColumn] { numbers.flatMap(\.summaryColumns) }

    /// The columns that averages are computed from, see ``averages(_:samples:)``.
    package var averageColumns: [SummaryColumn] {
        columns.flatMap { column in column.averageParts.map { SummaryColumn(column: column, part: $0) } }
    }

    /// The columns of an envelope: the least and the greatest value of each column with numbers.
    package var extremeColumns: [SummaryColumn] {
        numbers.flatMap { [SummaryColumn(column: $0, part: .min), SummaryColumn(column: $0, part: .max)] }
    }

    /// Returns the values of a row of averages from those of ``averageColumns``.
    package func averages(_ values: [Double], samples: Int64) -> [Double] {
        var rest = values[...]
        func next() -> Double { rest.popFirst() ?? .nan }
        var result: [Double] = []
        for column in columns {
            switch column.aggregate {
            case .mean: result.append(next() / next())
            case .sum: result.append(next())
            case .meanLongitude:
                let (sum, count, least, greatest, east) = (next(), next(), next(), next(), next())
                // If the values lie on both sides of the 180th meridian, 360° was added to negative ones.
                let shifted = east / count
                result.append(greatest - least <= 180 ? sum / count : shifted > 180 ? shifted - 360 : shifted)
            case .none: break
            }
        }
        return result + [Double(samples)]
    }
}

extension SensorStream.Column {
    /// The columns of a summary that are computed from the column.
    var summaryColumns: [SummaryColumn] {
        SummaryColumn.Part.allCases.filter { $0 != .east || aggregate == .meanLongitude }
            .map { SummaryColumn(column: self, part: $0) }
    }

    /// What an average of the column is computed from.
    var averageParts: [SummaryColumn.Part] {
        switch aggregate {
        case .mean: [.sum, .count]
        case .meanLongitude: [.sum, .count, .min, .max, .east]
        case .sum: [.sum]
        case .none: []
        }
    }
}
