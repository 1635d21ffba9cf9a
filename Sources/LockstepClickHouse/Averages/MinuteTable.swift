import LockstepModel
import LockstepStore

/// The table of a stream with summaries of minutes, from which averages and envelopes are computed.
///
/// A materialised view would count a sample twice that was inserted twice. So the collector lets the server summarise a
/// minute when its samples are stored, and the rows of the table tell whether a summary still holds:
///
/// - A row with `_change` = 0 is a summary of a minute. `_changes` is the sum of the changes that it includes.
/// - A row with another `_change`, a random number, says that the samples of the minute may have changed. It is inserted
///   after the samples, and before they are acknowledged.
///
/// A summary is valid if `_changes` is the sum of all changes of its minute. Whoever summarises a minute reads the
/// changes first and the samples later, so that a change meanwhile makes the summary invalid. Minutes without a valid
/// summary are computed from the samples.
extension Minute {
    /// The SQL expression of the start of the minute that contains `t`.
    static let expression = "t - ((t % toInt64(\(length)) + toInt64(\(length))) % toInt64(\(length)))"

    /// The SQL expression of the sum of all changes of a minute.
    static let changes = "arraySum(groupUniqArray(_change))"
}

extension SensorStream {
    /// The table with summaries of minutes.
    var minuteTable: String { "summarised_" + table }

    /// The columns of a summary in the order in which they are inserted.
    var minuteColumns: [String] {
        ["device_id", "t", "_change", "_changes", "version", "samples"] + summaryColumns.map(\.name)
    }

    /// The statement that creates ``minuteTable``. Its partitions are those of the samples.
    func createMinuteTable(_ storage: ClickHouseSchema.StorageSettings) -> String {
        let values = summaryColumns.map { ", \($0.name) Nullable(Float64)" }
        return """
            CREATE TABLE IF NOT EXISTS \(minuteTable) (
                device_id Int64, t Int64, _change UInt64, _changes UInt64, version UInt64, samples Int64\(values.joined())
            ) ENGINE = \(storage.engine("ReplacingMergeTree", "version", of: minuteTable))
            PARTITION BY \(SamplePartition.expression)
            ORDER BY (device_id, t, _change)\(storage.clause)
            """
    }

    /// The query of the view with the averages of all minutes that have a valid summary.
    var minutesView: String {
        var values: [String] = []
        let names = averageColumns + summaryColumns.filter { [.min, .max].contains($0.part) }
        func value(_ column: Column, _ part: SummaryColumn.Part) -> String {
            let index = names.firstIndex(of: SummaryColumn(column: column, part: part)) ?? 0
            return "latest.\(index + 3)"
        }
        for column in columns where column.kind.words == nil {
            let (sum, count) = (value(column, .sum), value(column, .count))
            switch column.aggregate {
            case .mean: values.append("\(sum) / \(count) AS \(column.name)")
            case .sum: values.append("\(sum) AS \(column.name)")
            case .meanLongitude:
                let east = "\(value(column, .east)) / \(count)"
                values.append(
                    "multiIf(\(value(column, .max)) - \(value(column, .min)) <= 180, \(sum) / \(count), \(east) > 180, \(east) - 360, "
                        + "\(east)) AS \(column.name)")
            case .none: break
            }
            values.append("\(value(column, .min)) AS \(column.name)_min")
            values.append("\(value(column, .max)) AS \(column.name)_max")
        }
        return """
            SELECT \((["device_id", "t", "latest.2 AS samples"] + values).joined(separator: ", "))
            FROM (\(summaries(names, by: "device_id, t")))
            WHERE latest.1 = changes AND latest.2 > 0
            """
    }

    /// Returns the query of the newest summary of each minute, valid or not, and of the changes of the minute.
    /// - Parameter names: the columns of the tuple `latest`, after `_changes` and `samples`.
    func summaries(_ names: [SummaryColumn], by keys: String, where condition: String? = nil) -> String {
        let values = ["_changes", "samples"] + names.map(\.name)
        return """
            SELECT \(keys), argMax((\(values.joined(separator: ", "))), version) AS latest, \(Minute.changes) AS changes
            FROM \(minuteTable)\(condition.map { " WHERE \($0)" } ?? "") GROUP BY \(keys)
            """
    }
}

extension SummaryColumn {
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
}
