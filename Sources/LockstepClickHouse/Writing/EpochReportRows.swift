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
}
