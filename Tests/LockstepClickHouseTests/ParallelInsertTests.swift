import Foundation
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClickHouse

@Suite("Inserts at the same time")
struct ParallelInsertTests {
    private static let missing = "Code: 60. DB::Exception: Table lockstep.c does not exist. (UNKNOWN_TABLE)"
    private static let busy = "Code: 286. DB::Exception: Quorum for previous write has not been satisfied yet."

    @Test("if one of them fails over, only this one is sent to the next server")
    func oneFailsOver() throws {
        let first = try FakeServer { table, _ in table == "c" ? .exception(Self.missing) : .success }
        let second = try FakeServer { _, _ in .success }
        try insert("abcd", into: [first, second])
        #expect(first.tables.sorted() == ["a", "b", "c", "d"])
        #expect(second.tables == ["c"])
    }

    @Test("if the server is busy with one of them, only this one is sent again")
    func oneWaits() throws {
        let first = try FakeServer { table, attempt in table == "b" && attempt == 1 ? .exception(Self.busy) : .success }
        let second = try FakeServer { _, _ in .success }
        try insert("abcd", into: [first, second])
        #expect(first.tables.sorted() == ["a", "b", "b", "c", "d"])
        #expect(second.tables == [])
    }

    @Test("if the server accepts one of them and hangs, the next server gets it")
    func oneHangs() throws {
        let first = try FakeServer { table, _ in table == "d" ? .silence : .success }
        let second = try FakeServer { _, _ in .success }
        try insert("abcd", into: [first, second], timeout: 3000)
        #expect(first.tables.sorted() == ["a", "b", "c", "d"])
        #expect(second.tables == ["d"])
    }

    @Test("after a failure in the second group of four, no insert is sent to the server that failed")
    func laterGroup() throws {
        let first = try FakeServer { table, _ in table == "f" ? .exception(Self.missing) : .success }
        let second = try FakeServer { _, _ in .success }
        try insert("abcdefghi", into: [first, second])
        #expect(first.tables.sorted() == ["a", "b", "c", "d", "e", "f", "g", "h"])
        #expect(second.tables.sorted() == ["f", "i"])
    }

    @Test("if no server can store one of them, the error is thrown")
    func allFail() throws {
        let servers = try (1...2).map { _ in
            try FakeServer { table, _ in table == "c" ? .exception(Self.missing) : .success }
        }
        let error = #expect(throws: StoreError.self) { try insert("abcd", into: servers) }
        #expect(error?.description.contains("does not exist") == true)
        #expect(servers[1].tables == ["c"])
    }

    @Test(
        "the answer of a server is thrown, also if another one is not running",
        arguments: ["Code: 62. DB::Exception: Syntax error.", busy])
    func answerAfterFailure(_ answer: String) throws {
        let refusing = try RefusingPort()
        let server = try FakeServer { _, _ in .exception(answer) }
        let error = #expect(throws: StoreError.self) {
            try insert("a", into: [refusing.number, server.port], retryTime: .milliseconds(300))
        }
        let reason = try #require(answer.split(separator: ": ").last)
        #expect(error?.description.contains(reason.dropLast()) == true, "\(error?.description ?? "")")
    }

    @Test("a server that does not answer is not cut off while its host acknowledges packets", arguments: ["a", "ab"])
    func slow(_ tables: String) throws {
        let server = try FakeServer { _, _ in .silence }
        let error = #expect(throws: StoreError.self) {
            try insert(tables, into: [server], timeout: 3000, silenceLimit: .milliseconds(100))
        }
        #expect(error?.code == .unreachable)
        #expect(error?.isCutOff == false)
    }

    @Test(
        "a server that accepts no connection in time is cut off, one that is not running is not",
        arguments: ["a", "ab"])
    func cutOff(_ tables: String) throws {
        let silent = try SilentListener()
        let error = #expect(throws: StoreError.self) {
            try insert(tables, into: [silent.port], retryTime: .zero, silenceLimit: .seconds(5))
        }
        #expect(error?.code == .unreachable && error?.isCutOff == true, "\(error?.description ?? "")")
        let stopped = try RefusingPort()
        let refusal = #expect(throws: StoreError.self) {
            try insert(tables, into: [stopped.number], retryTime: .zero, silenceLimit: .seconds(5))
        }
        #expect(refusal?.code == .unreachable && refusal?.isCutOff == false, "\(refusal?.description ?? "")")
    }

    private func insert(
        _ tables: String, into servers: [FakeServer], timeout: Int = 60_000, silenceLimit: Duration? = nil
    ) throws {
        try insert(tables, into: servers.map(\.port), timeout: timeout, silenceLimit: silenceLimit)
    }

    private func insert(
        _ tables: String, into ports: [UInt16], timeout: Int = 60_000, retryTime: Duration? = nil,
        silenceLimit: Duration? = nil
    ) throws {
        let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
        let client = try ClickHouseClient(ClickHouseAddress("clickhouse://\(hosts)/lockstep"), timeout: timeout)
        client.silenceLimit = silenceLimit
        if let retryTime { client.retryTime = retryTime }
        try client.insert(tables.map { TableInsert([1], into: String($0), columns: ["n"]) })
    }
}

/// An HTTP server that answers inserts into tables with names of one letter.
private final class FakeServer: Sendable {
    enum Answer {
        case success
        case exception(String)
        case silence
    }

    private final class Log: Sendable {
        let tables = Mutex<[String]>([])
    }

    private let listener: LoopbackListener
    private let log = Log()

    var port: UInt16 { listener.port }
    /// The table of each insert that was received.
    var tables: [String] { log.tables.withLock { $0 } }

    /// - Parameter answer: returns the answer to an insert into a table, with the number of inserts into it so far.
    init(answer: @escaping @Sendable (_ table: String, _ attempt: Int) -> Answer) throws {
        listener = try LoopbackListener()
        Thread.detachNewThread { [listener, log] in
            while let connection = listener.accept() {
                Thread.detachNewThread {
                    while let table = Self.readRequest(connection) {
                        let attempt = log.tables.withLock { tables in
                            tables.append(table)
                            return tables.count { $0 == table }
                        }
                        Self.send(answer(table, attempt), to: connection)
                    }
                    close(connection)
                }
            }
        }
    }

    deinit { listener.close() }

    /// Reads a request up to the end of its body.
    /// - Returns: the table, or nil when the client has closed the connection.
    private static func readRequest(_ connection: Int32) -> String? {
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix("\r\n\r\n") {
            guard recv(connection, &byte, 1, 0) == 1 else { return nil }
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        let length = text.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) } ?? 0
        for _ in 0..<length where recv(connection, &byte, 1, 0) != 1 { return nil }
        return text.firstMatch(of: /INSERT%20INTO%20([a-z])%20/).map { String($0.1) }
    }

    private static func send(_ answer: Answer, to connection: Int32) {
        let text =
            switch answer {
            case .success: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            case .exception(let text):
                "HTTP/1.1 500 Error\r\nContent-Length: \(text.utf8.count)\r\n\r\n" + text
            case .silence: ""
            }
        let bytes = Array(text.utf8)
        _ = Glibc.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
