import Glibc
import LockstepModel
import LockstepStore

/// Sends statements to a ClickHouse server, or to one of its replicas, over the HTTP interface. Use it from one thread at
/// a time.
///
/// Every statement of a store may be executed twice. So if a replica does not answer, the next one gets the statement.
final class ClickHouseClient {
    /// The servers and the database.
    let address: ClickHouseAddress
    private let connections: [HTTPConnection]
    /// The connections for inserts into several tables, by server.
    private var groups: [Int: HTTPConnectionGroup] = [:]
    private let headers: [String]
    private let timeout: Int
    private var current = 0
    /// Settings of every request, as parameters of an address: `&name=value`.
    var settings = ""
    /// Settings of every insert, likewise.
    var insertSettings = ""
    /// Whether a replica is only read after it has received everything that was acknowledged.
    var readsReplicas = false
    /// Whether this includes the tables of refined data.
    var readsRefinedTables = false
    /// The time after which a request is not sent to the same server again: a collector that waits longer loses its
    /// connection to the broker.
    var retryTime = Duration.seconds(15)
    /// The time after which it is checked again whether the replica has received everything that was acknowledged since;
    /// nil if this is only checked after a failover, and after ``requireEverything()``.
    var progressAge: Duration?
    private var checkedAt: ContinuousClock.Instant?
    private var isChecking = false
    /// The table of the current statement that the replica must have received, although all tables were checked before.
    private var completeTable: String?
    /// Ends requests early, also those that start later, while it is not nil.
    var cancellation: QueryCancellation?
    /// The time for which a request waits until the server is asked whether it still answers, and between two such
    /// questions.
    var pulseInterval = Duration.seconds(5)
    /// The time for which the host of a server may acknowledge nothing until a request is sent to the next one; nil to wait
    /// for the timeout.
    var silenceLimit: Duration? {
        didSet {
            for connection in connections { connection.silenceLimit = silenceLimit }
            groups = [:]
        }
    }
    /// Whether the last request that failed on all servers could reach none of their hosts, and none has succeeded since.
    private(set) var isCutOff = false
    /// Asks a server while another connection waits for it.
    private let pulse: HTTPConnection

    /// - Throws: ``StoreError`` if libcurl cannot start.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    init(_ address: ClickHouseAddress, timeout: Int = 300_000) throws(StoreError) {
        self.address = address
        self.timeout = timeout
        var headers: [String] = []
        if let user = address.user { headers.append("X-ClickHouse-User: \(user)") }
        if let password = address.password { headers.append("X-ClickHouse-Key: \(password)") }
        var connections: [HTTPConnection] = []
        do {
            for _ in address.servers { connections.append(try HTTPConnection(headers: headers, timeout: timeout)) }
            pulse = try HTTPConnection(headers: headers, connectTimeout: Self.pulseTimeout, timeout: Self.pulseTimeout)
        } catch { throw StoreError(.other, "\(error)") }
        self.connections = connections
        self.headers = headers
    }

    /// Lets the next read wait until the replica has received everything that was acknowledged before.
    func requireEverything() { checkedAt = nil }

    /// Sends the following requests to the next server.
    func failOver() {
        current = (current + 1) % connections.count
        checkedAt = nil
    }

    /// Executes a statement without a result.
    /// - Parameter database: whether the statement needs the database.
    func execute(_ statement: String, inDatabase database: Bool = true) throws(StoreError) {
        _ = try send(parameters(inDatabase: database), Array(statement.utf8))
    }

    /// Executes a SELECT statement.
    /// - Parameter table: a table of which the replica must have received everything that was acknowledged before.
    /// - Returns: the rows. NULL is nil.
    func rows(
        _ statement: String, inDatabase database: Bool = true, complete table: String? = nil
    ) throws(StoreError) -> [[String?]] {
        if let table, readsReplicas { completeTable = table }
        defer { if table != nil { completeTable = nil } }
        let body = try read(statement + " FORMAT TabSeparated", inDatabase: database)
        return TabSeparated.rows(body)
    }

    /// Executes a SELECT statement.
    /// - Returns: the rows in the format RowBinary.
    func binary(_ statement: String) throws(StoreError) -> [UInt8] {
        try read(statement + " FORMAT RowBinary", inDatabase: true)
    }

    /// Inserts rows in the format RowBinary. When this returns, the server, or enough replicas, have stored all of them.
    func insert(_ rows: [UInt8], into table: String, columns: [String]) throws(StoreError) {
        try insert(TableInsert(rows, into: table, columns: columns))
    }

    /// Inserts rows into several tables, into some of them at the same time. When this returns, the server, or enough
    /// replicas, have stored all of them. If it throws, they may have stored some of them.
    func insert(_ inserts: [TableInsert]) throws(StoreError) {
        for part in inserts.chunks(of: Self.maxInserts) {
            let server = current
            let results = part.count > 1 ? try attempt(part) : part.map { _ in nil }
            for (insert, result) in zip(part, results) {
                switch result {
                case .success: continue
                case .failure(let failure): try self.insert(insert, after: (server, failure))
                case nil: try self.insert(insert)
                }
            }
        }
    }

    /// - Parameter failure: a failure of this insert, and the server on which it failed.
    private func insert(_ insert: TableInsert, after failure: (server: Int, Failure)? = nil) throws(StoreError) {
        _ = try send(parameters(of: insert), insert.body, after: failure)
    }

    private func parameters(of insert: TableInsert) -> String {
        parameters(inDatabase: true) + insertSettings + "&query=" + percentEncoded(insert.statement)
    }

    /// Sends inserts to the current server at the same time.
    /// - Returns: the result of each, or nil if it was not sent.
    private func attempt(_ inserts: ArraySlice<TableInsert>) throws(StoreError) -> [Result<Void, Failure>?] {
        let group: HTTPConnectionGroup
        if let known = groups[current] {
            group = known
        } else {
            do {
                group = try HTTPConnectionGroup(
                    count: Self.maxInserts, headers: headers, timeout: timeout, silenceLimit: silenceLimit)
            } catch {
                throw StoreError(.other, "\(error)")
            }
            groups[current] = group
        }
        let url = address.url(of: address.servers[current])
        let requests = inserts.map { HTTPConnectionGroup.Request(url: url + parameters(of: $0), body: $0.body) }
        return group.post(requests, timeout: limit(isLast: connections.count == 1)).map { result in
            Result { () throws(Failure) in _ = try self.body(of: result) }
        }
    }

    /// Sends a query.
    private func read(_ statement: String, inDatabase database: Bool) throws(StoreError) -> [UInt8] {
        try send(parameters(inDatabase: database), Array(statement.utf8), needsProgress: database && readsReplicas)
    }

    private func parameters(inDatabase database: Bool) -> String {
        // Without wait_end_of_query, the status would be sent before an error in the middle of a query.
        "?wait_end_of_query=1\(settings)" + (database ? "&database=\(address.database)" : "")
    }
}

// Requests and failover.

extension ClickHouseClient {
    /// The maximum duration of a request about the progress of a replica, in ms.
    private static let progressTimeout = 5000

    /// The maximum number of inserts at the same time. A server needs a core for each.
    private static let maxInserts = 4

    /// The minimum time in ms that each server has to answer. An insert may wait for its quorum.
    private static let minAttempt = QuorumInsert.timeout + 2000

    /// The maximum duration of the answer to the question whether a server still answers, in ms.
    private static let pulseTimeout = 5000
    /// The minimum remaining time of a request, in ms, for which its server is asked. With less, a server under load could
    /// seem to hang. The request ends soon anyway.
    private static let minPulse = 500

    /// A request that failed.
    private struct Failure: Error {
        let action: FailedRequest
        let error: StoreError
    }

    /// Sends a request to the current server. If that fails, sends it to the others.
    /// - Parameters:
    ///   - needsProgress: whether the server must have received everything that was acknowledged.
    ///   - failure: a failure of the same request, and the server on which it failed.
    private func send(
        _ parameters: String, _ body: [UInt8], needsProgress: Bool = false, after failure: (server: Int, Failure)? = nil
    ) throws(StoreError) -> [UInt8] {
        let start = ContinuousClock.now
        var errors: [StoreError] = []
        var failure = failure
        while true {
            do throws(Failure) {
                // Another server may have become the current one meanwhile.
                if let (server, failure) = failure.take(), server == current { throw failure }
                if needsProgress { try waitForProgress() }
                let answer = try sendOnce(parameters, body, isLast: errors.count == connections.count - 1)
                isCutOff = false
                return answer
            } catch {
                if isChecking { throw error.error }
                if error.action == .failOver {
                    errors.append(error.error)
                    failOver()
                }
                let isRepeated =
                    switch error.action {
                    case .wait: ContinuousClock.now - start < retryTime
                    // Each server is tried once, also if the first one has taken long to fail.
                    case .failOver: errors.count < connections.count
                    case .fail: false
                    }
                guard isRepeated else {
                    isCutOff = false
                    guard error.action == .failOver else { throw error.error }
                    // What a server answers says more than that another one is away.
                    if let answer = errors.first(where: { !$0.description.contains(Self.noAnswer) }) { throw answer }
                    // One that is slow can be reached.
                    let final = errors.first { !$0.isCutOff } ?? errors.first ?? error.error
                    isCutOff = final.isCutOff
                    throw final
                }
                // Several collectors that insert into the same table should not try again at the same time.
                if error.action == .wait { usleep(.random(in: 10_000...50_000)) }
            }
        }
    }

    private static let noAnswer = "does not answer"

    /// Returns the maximum duration of a request in ms. While others are left, a server that hangs must not use all the time.
    private func limit(isLast: Bool) -> Int {
        if isChecking { return Self.progressTimeout }
        return isLast ? timeout : min(timeout, max(Self.minAttempt, timeout / connections.count))
    }

    /// - Parameter isLast: whether no other server is left to be tried.
    private func sendOnce(_ parameters: String, _ body: [UInt8], isLast: Bool) throws(Failure) -> [UInt8] {
        guard cancellation?.isCancelled != true else { throw cancelled }
        let connection = connections[current]
        let timeout = limit(isLast: isLast)
        let end = ContinuousClock.now + .milliseconds(timeout)
        var lastPulse = ContinuousClock.now
        var hangs = false
        connection.shouldStop = { [self] in
            if cancellation?.isCancelled == true { return true }
            // If it is the last one, nothing is gained by giving up.
            guard !isLast, ContinuousClock.now - lastPulse >= pulseInterval else { return false }
            // This is noticed by its own limit, while the question would block.
            guard !connection.hasSuspiciousPeer else { return false }
            defer { lastPulse = .now }
            // While this waits, libcurl cannot end the request.
            let rest = Int((end - .now) / .milliseconds(1))
            guard rest >= Self.minPulse else { return false }
            // Any answer will do.
            let url = address.url(of: address.servers[current]) + "?query=SELECT%201"
            hangs = (try? pulse.post(url, body: [], timeout: min(rest, Self.pulseTimeout))) == nil
            return hangs
        }
        defer { connection.shouldStop = { false } }
        let result = Result { () throws(HTTPConnection.Failure) in
            try connection.post(
                address.url(of: address.servers[current]) + parameters, body: body, timeout: timeout)
        }
        return try self.body(of: result, isHanging: hangs)
    }

    /// Returns the body of an answer of the current server.
    /// - Parameter isHanging: whether the server did not answer another request either.
    private func body(
        of result: Result<HTTPConnection.Response, HTTPConnection.Failure>, isHanging: Bool = false
    ) throws(Failure) -> [UInt8] {
        let server = address.on(address.servers[current])
        switch result {
        case .failure(let error):
            guard cancellation?.isCancelled != true else { throw cancelled }
            throw Failure(
                action: .failOver,
                error: StoreError(
                    .unreachable,
                    "the ClickHouse server \(server) \(Self.noAnswer) (\(isHanging ? "nor to SELECT 1" : "\(error)")): check that "
                        + "it is running", isCutOff: error.isCutOff))
        case .success(let response):
            guard response.status == 200 else {
                let exception = ClickHouseException(String(decoding: response.body, as: UTF8.self))
                throw Failure(action: FailedRequest(exception), error: StoreError(exception, at: server))
            }
            return response.body
        }
    }

    /// Waits until the current server has received everything that was acknowledged.
    private func waitForProgress() throws(Failure) {
        let start = ContinuousClock.now
        var table: String?
        if let checkedAt, progressAge.map({ start - checkedAt < $0 }) ?? true {
            guard let completeTable else { return }
            table = completeTable
        }
        isChecking = true
        defer { isChecking = false }
        do { try checkProgress(of: table, since: start) } catch {
            throw Failure(action: error.code == .cancelled ? .fail : .failOver, error: error)
        }
        if table == nil { checkedAt = start }
    }

    /// - Parameter table: the only table that is checked, or nil for all.
    private func checkProgress(of table: String?, since start: ContinuousClock.Instant) throws(StoreError) {
        var progress = try ReplicaProgress(
            self, database: address.database, table: table, includesRefined: readsRefinedTables)
        while try !progress.isComplete() {
            guard ContinuousClock.now - start < .milliseconds(Self.progressTimeout) else {
                throw StoreError(
                    .unreachable,
                    "the ClickHouse server \(address.servers[current]) has not yet received everything that other replicas "
                        + "have acknowledged: see 'lockstep doctor'")
            }
            usleep(20_000)
        }
    }

    private var cancelled: Failure {
        Failure(action: .fail, error: StoreError(.cancelled, "the query of \(address) was cancelled"))
    }

    /// Returns whether the tables of the database are replicated, or nil if there are none.
    func hasReplicatedTables() throws(StoreError) -> Bool? {
        let rows = try self.rows(
            "SELECT engine FROM system.tables WHERE database = '\(address.database)' AND name = 'received_devices'",
            inDatabase: false)
        return rows.first?[0]?.hasPrefix("Replicated")
    }
}

func literal(_ text: String) -> String {
    "'" + text.escaping(["\\": "\\\\", "'": "\\'"]) + "'"
}

private func percentEncoded(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            result.unicodeScalars.append(Unicode.Scalar(byte))
        default:
            let digits = String(byte, radix: 16, uppercase: true)
            result += digits.count == 1 ? "%0" + digits : "%" + digits
        }
    }
    return result
}
