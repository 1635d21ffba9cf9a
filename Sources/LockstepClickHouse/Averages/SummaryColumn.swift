import LockstepModel

/// A number that summarises the values of a column in a time span. Summaries of parts of a span can be combined.
struct SummaryColumn: Hashable {
    /// What is computed from the known values of a column.
    enum Part: String, CaseIterable {
        case sum, count, min, max
        /// The sum of longitudes, with 360° added to negative ones. See ``SensorStream/Aggregate/meanLongitude``.
        case east
    }

    /// The column of the stream.
    let column: SensorStream.Column
    let part: Part

    /// The name of the column in the table of averages.
    var name: String { "\(column.name)_\(part.rawValue)" }

    /// The SQL expression over samples. All have the type Nullable(Float64).
    var expression: String {
        let value = column.name
        let aggregate =
            switch part {
            case .sum: "sum(\(value))"
            case .count: "count(\(value))"
            case .min: "min(\(value))"
            case .max: "max(\(value))"
            case .east: "sum(if(\(value) < 0, \(value) + 360, \(value)))"
            }
        return "CAST(\(aggregate) AS Nullable(Float64))"
    }

    /// Returns the number of two parts of a span together. NaN stands for no known value.
    func combined(_ first: Double, _ second: Double) -> Double {
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

    /// The columns of the table of averages.
    var summaryColumns: [SummaryColumn] {
        numbers.flatMap { column in
            SummaryColumn.Part.allCases.filter { $0 != .east || column.aggregate == .meanLongitude }
                .map { SummaryColumn(column: column, part: $0) }
        }
    }

    /// The columns that averages are computed from, see ``averages(_:samples:)``.
    var averageColumns: [SummaryColumn] {
        columns.flatMap { column -> [SummaryColumn] in
            let parts: [SummaryColumn.Part] =
                switch column.aggregate {
                case .mean: [.sum, .count]
                case .meanLongitude: [.sum, .count, .min, .max, .east]
                case .sum: [.sum]
                case .none: []
                }
            return parts.map { SummaryColumn(column: column, part: $0) }
        }
    }

    /// The columns of an envelope: the least and the greatest value of each column with numbers.
    var extremeColumns: [SummaryColumn] {
        numbers.flatMap { [SummaryColumn(column: $0, part: .min), SummaryColumn(column: $0, part: .max)] }
    }

    /// Returns the values of a row of averages from those of ``averageColumns``.
    func averages(_ values: [Double], samples: Int64) -> [Double] {
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
