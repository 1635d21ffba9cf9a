import LockstepStore

/// The settings of inserts into replicated tables.
struct QuorumInsert {
    /// The time in ms for which a server waits until enough replicas hold a row.
    static let timeout = 5000

    /// The number of replicas that must hold a row.
    let replicas: Int
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

/// The number of replicas that must hold a row before its insert is answered. Asking for one makes the tables replicated.
public enum Quorum: Hashable, Sendable {
    /// More than half of all replicas.
    case majority
    /// A number of replicas. With less than a majority, the loss of that many replicas loses acknowledged samples.
    case replicas(Int)

    /// Parses `majority`, or a number from 1 to 9.
    public init?(_ text: String) {
        if text == "majority" {
            self = .majority
        } else if let number = Int(text), (1...9).contains(number) {
            self = .replicas(number)
        } else {
            return nil
        }
    }

    /// Returns the number of replicas of `count` that must hold a row.
    func number(of count: Int) -> Int {
        switch self {
        case .majority: count / 2 + 1
        case .replicas(let number): number
        }
    }
}

/// The replicas that answer while a store is opened. One that stops is left out, as long as enough of them are left.
struct AnsweringServers<Server> {
    /// The servers that have answered each step so far.
    private(set) var servers: [Server]
    /// The number of servers that must answer.
    var required = 1

    /// The error of the last server that was left out.
    private var failure: StoreError?

    init(_ servers: [Server]) { self.servers = servers }

    /// Performs a step with each server, and leaves out those that do not answer.
    /// - Throws: an error that a server reports, or that of a server that does not answer if too few are left.
    mutating func perform(_ step: (Server) throws(StoreError) -> Void) throws(StoreError) {
        var answering: [Server] = []
        for server in servers {
            do {
                try step(server)
                answering.append(server)
            } catch {
                guard error.code == .unreachable else { throw error }
                failure = error
            }
        }
        servers = answering
        if servers.count < required, let failure { throw failure }
    }
}

/// What a server reports of its replica of a store.
public struct ReplicaStatus: Hashable, Sendable {
    /// The number of replicas that are known, the server's own included.
    public var total: Int
    /// The number of replicas that have a connection to the keeper.
    public var active: Int
    /// The number of parts and merges that the replica has still to process.
    public var queue: Int
    /// The number of tables that cannot be written because the server has no connection to the keeper.
    public var readOnlyTables: Int
}

extension ReplicaStatus {
    /// Returns the status of the server's replica, or nil if the tables are not replicated.
    static func read(_ client: ClickHouseClient) throws(StoreError) -> ReplicaStatus? {
        let row = try client.rows(
            """
            SELECT min(total_replicas), min(active_replicas), sum(queue_size), sum(is_readonly OR is_session_expired), count()
            FROM system.replicas WHERE database = \(literal(client.address.database))
            """, inDatabase: false
        ).first
        guard let numbers = row?.map({ $0.flatMap { Int($0) } ?? 0 }), numbers.count == 5, numbers[4] > 0 else {
            return nil
        }
        return ReplicaStatus(total: numbers[0], active: numbers[1], queue: numbers[2], readOnlyTables: numbers[3])
    }
}
