import LockstepStore

/// Sends statements to a ClickHouse server over its HTTP interface. Use it from one thread at a time.
final class ClickHouseClient {
    private let connection: HTTPConnection
    private let address: ClickHouseAddress
    /// Settings of every request, as parameters of an address: `&name=value`.
    var settings = ""
    /// Ends requests early, also those that start later, while it is not nil.
    var cancellation: QueryCancellation? {
        didSet { connection.shouldStop = { [cancellation] in cancellation?.isCancelled == true } }
    }

    /// - Throws: ``StoreError`` if libcurl cannot start.
    /// - Parameter timeout: the maximum duration of a request, in ms.
    init(_ address: ClickHouseAddress, timeout: Int = 300_000) throws(StoreError) {
        self.address = address
        var headers: [String] = []
        if let user = address.user { headers.append("X-ClickHouse-User: \(user)") }
        if let password = address.password { headers.append("X-ClickHouse-Key: \(password)") }
        do { connection = try HTTPConnection(headers: headers, timeout: timeout) } catch {
            throw StoreError(.other, "\(error)")
        }
    }

    /// Executes a statement without a result.
    /// - Parameter database: whether the statement needs the database.
    func execute(_ statement: String, inDatabase database: Bool = true) throws(StoreError) {
        _ = try send(statement, inDatabase: database)
    }

    /// Executes a SELECT statement.
    /// - Returns: the rows. NULL is nil.
    func rows(_ statement: String, inDatabase database: Bool = true) throws(StoreError) -> [[String?]] {
        let body = try send(statement + " FORMAT TabSeparated", inDatabase: database)
        return TabSeparated.rows(body)
    }

    /// Executes a SELECT statement.
    /// - Returns: the rows in the format RowBinary.
    func binary(_ statement: String) throws(StoreError) -> [UInt8] {
        try send(statement + " FORMAT RowBinary", inDatabase: true)
    }

    /// Inserts rows in the format RowBinary. When this returns, the server has stored all of them.
    func insert(_ rows: [UInt8], into table: String, columns: [String]) throws(StoreError) {
        let statement = "INSERT INTO \(table) (\(columns.joined(separator: ", "))) FORMAT RowBinary"
        _ = try send(url: url(inDatabase: true) + "&query=" + percentEncoded(statement), body: rows)
    }

    private func send(_ statement: String, inDatabase database: Bool) throws(StoreError) -> [UInt8] {
        try send(url: url(inDatabase: database), body: Array(statement.utf8))
    }

    private func url(inDatabase database: Bool) -> String {
        // Without wait_end_of_query, the status would be sent before an error in the middle of a query.
        address.url + "?wait_end_of_query=1\(settings)" + (database ? "&database=\(address.database)" : "")
    }

    private func send(url: String, body: [UInt8]) throws(StoreError) -> [UInt8] {
        try checkCancellation()
        let response: HTTPConnection.Response
        do { response = try connection.post(url, body: body) } catch {
            try checkCancellation()
            throw StoreError(
                .unreachable, "the ClickHouse server \(address) does not answer (\(error)): check that it is running")
        }
        guard response.status == 200 else {
            throw StoreError(ClickHouseException(String(decoding: response.body, as: UTF8.self)), at: address)
        }
        return response.body
    }

    private func checkCancellation() throws(StoreError) {
        guard cancellation?.isCancelled != true else {
            throw StoreError(.cancelled, "the query of \(address) was cancelled")
        }
    }
}

/// Returns a text as a literal in SQL.
func literal(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
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
