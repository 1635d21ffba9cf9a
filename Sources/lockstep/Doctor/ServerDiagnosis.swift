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

    let address: ClickHouseAddress
    let status: Result<ServerStatus, StoreError>
    /// Whether the address of the store has several hosts.
    let isOneOfSeveral: Bool
    /// Whether the hosts that can be read are a majority of the replicas.
    let isMajorityLeft: Bool

    static func all(_ hosts: [(address: ClickHouseAddress, status: Result<ServerStatus, StoreError>)]) -> [Self] {
        let replicas = hosts.compactMap { (try? $0.status.get())?.replica }
        let total = max(hosts.count, replicas.map(\.total).max() ?? 0)
        return hosts.map {
            ServerDiagnosis(
                address: $0.address, status: $0.status, isOneOfSeveral: hosts.count > 1,
                isMajorityLeft: replicas.count > total / 2)
        }
    }

    var findings: [Finding] {
        switch status {
        case .failure(let error) where isMajorityLeft:
            return [
                Finding(
                    .warning, "store", "\(error)",
                    "start it again: the other replicas are a majority, so collectors with --quorum majority go on, but "
                        + "not if another one fails")
            ]
        case .failure(let error):
            return [
                Finding(
                    .failure, "store", "\(error)",
                    "collectors store nothing until the server, or enough of its replicas, can be read again")
            ]
        case .success(let status) where status.replica == nil && isOneOfSeveral:
            return [
                Finding(
                    .failure, "store", "the tables of \(address) are not replicated",
                    "give only the host of the store: all other programs refuse several")
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
