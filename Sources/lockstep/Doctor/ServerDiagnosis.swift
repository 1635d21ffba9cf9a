import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The findings about a ClickHouse store.
struct ServerDiagnosis {
    /// The number of parts in a partition above which merges are too slow: half of the limit at which ClickHouse refuses
    /// inserts.
    private static let maxParts = 150

    /// The address of the store.
    let address: ClickHouseAddress
    let status: Result<ServerStatus, StoreError>

    var findings: [Finding] {
        switch status {
        case .failure(let error):
            return [
                Finding(.failure, "store", "\(error)", "collectors store nothing until the server can be read again")
            ]
        case .success(let status):
            let text =
                "\(address) answers: ClickHouse \(status.version.printable), \(counted(status.devices, "device"))"
            guard status.parts > Self.maxParts else { return [Finding(.ok, "store", text)] }
            return [
                Finding(.ok, "store", text),
                Finding(
                    .warning, "store", "\(status.parts) parts of a partition wait to be merged",
                    "use fewer shares or collectors for each table, or faster disks; at 300 parts the server refuses "
                        + "inserts"),
            ]
        }
    }
}
