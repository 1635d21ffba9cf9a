import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The findings about a ClickHouse store.
struct ServerDiagnosis {
    /// The number of parts in a partition above which merges are too slow: half of the limit at which ClickHouse refuses
    /// inserts.
    private static let maxParts = 150

    /// The number of entries in the queue of a replica above which it lags behind.
    private static let maxQueue = 100

    /// The address of the store on this server.
    let address: ClickHouseAddress
    let status: Result<ServerStatus, StoreError>

    var findings: [Finding] {
        switch status {
        case .failure(let error):
            return [
                Finding(
                    .failure, "store", "\(error)",
                    "collectors store nothing until the server, or enough of its replicas, can be read again")
            ]
        case .success(let status):
            let text =
                "\(address) answers: ClickHouse \(status.version.printable), \(counted(status.devices, "device"))"
            let findings = [Finding(.ok, "store", text)] + (status.replica.map(findings) ?? [])
            guard status.parts > Self.maxParts else { return findings }
            return findings + [
                Finding(
                    .warning, "store", "\(status.parts) parts of a partition wait to be merged",
                    "use fewer shares or collectors for each table, or faster disks; at 300 parts the server refuses "
                        + "inserts")
            ]
        }
    }

    /// Returns the findings about the replica of the server.
    private func findings(_ replica: ReplicaStatus) -> [Finding] {
        var findings: [Finding] = []
        if replica.readOnlyTables > 0 {
            findings.append(
                Finding(
                    .failure, "replica",
                    "\(counted(replica.readOnlyTables, "table")) of \(address) cannot be written: no connection to the keeper",
                    "check that the keeper runs and the server reaches it"))
        } else if replica.active < replica.total {
            findings.append(
                Finding(
                    .warning, "replica", "\(replica.active) of \(replica.total) replicas are connected to the keeper",
                    "start the others; samples are only acknowledged while enough replicas for the quorum are there"))
        }
        let queue = "\(counted(replica.queue, "entry", "entries")) in the queue"
        if replica.queue > Self.maxQueue {
            findings.append(
                Finding(
                    .warning, "replica", "\(address) lags behind: \(queue)",
                    "wait until it has fetched them; otherwise see last_exception in system.replication_queue"))
        } else if findings.isEmpty {
            findings.append(Finding(.ok, "replica", "\(counted(replica.total, "replica")) connected, \(queue)"))
        }
        return findings
    }
}
