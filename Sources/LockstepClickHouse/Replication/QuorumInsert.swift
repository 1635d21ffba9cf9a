import LockstepStore

/// The settings of inserts into replicated tables.
struct QuorumInsert {
    /// The time in ms for which a server waits until enough replicas hold a row.
    static let timeout = 5000

    /// The number of replicas that must hold a row.
    let replicas: Int
    /// The version of the servers.
    let version: ServerVersion

    /// The settings as parameters of an address.
    ///
    /// An insert that was only received by some replicas is sent again. ClickHouse 18.16 would recognise the block as a
    /// duplicate and answer at once, even if the other replicas do not hold it. So deduplication is off, and the rows of the
    /// second insert merge with those of the first.
    var settings: String {
        guard replicas > 1 else { return "&insert_deduplicate=0" }
        return "&insert_quorum=\(replicas)&insert_quorum_timeout=\(Self.timeout)&insert_deduplicate=0"
            // A replica that was away finds unconfirmed parts only in the node of inserts one after the other.
            + (version.isAtLeast(20, 10) ? "&insert_quorum_parallel=0" : "")
    }
}

/// What to do after a request failed.
enum FailedRequest: Equatable {
    /// The same server can answer it a moment later.
    case wait
    /// Another server may answer it.
    case failOver
    /// No server can answer it.
    case fail

    /// Returns what to do after an exception of a server.
    init(_ exception: ClickHouseException) {
        switch exception.code {
        // Another insert into the table still waits for its quorum, or another collector is creating the table.
        case 286, 380: self = .wait
        // A missing database or table, which another replica may have; a full disk; no session with the keeper; a table
        // that is read-only without it; too few replicas; an insert whose outcome the server does not know.
        case 60, 81, 225, 242, 243, 285, 319, 999: self = .failOver
        default: self = .fail
        }
    }
}
