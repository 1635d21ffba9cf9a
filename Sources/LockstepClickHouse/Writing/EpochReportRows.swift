import LockstepModel
import LockstepStore

/// The rows of the table `received_reports`.
enum EpochReportRows {
    static let columns = ["device_id", "epoch", "gone", "before", "version"]

    static func append(
        _ report: EpochReport, of device: Int64, _ epoch: Epoch, version: UInt64, to rows: inout RowBinary
    ) {
        rows.append(device)
        rows.append(epoch.rawValue)
        rows.append(EpochReport.json(report.gone))
        rows.append(EpochReport.json(report.before))
        rows.append(version)
        rows.endRow()
    }

    /// Reads the reports of the devices that match a condition.
    static func read(
        _ client: ClickHouseClient, where condition: String?
    ) throws(StoreError) -> [(device: Int64, epoch: Epoch, report: EpochReport)] {
        let condition = condition.map { " WHERE \($0)" } ?? ""
        var reports: [(device: Int64, epoch: Epoch, report: EpochReport)] = []
        for row in try client.rows("SELECT device_id, epoch, gone, before FROM reports\(condition)") {
            guard let device = row[0].flatMap({ Int64($0) }), let epoch = row[1].flatMap({ Epoch(rawValue: $0) }),
                let report = EpochReport(gone: row[2] ?? "", before: row[3] ?? "")
            else { throw StoreError(.corrupt, "a row of reports is damaged: \(row.compactMap(\.self))") }
            reports.append((device, epoch, report))
        }
        return reports
    }
}
