import LockstepModel
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepStore

@Suite("Rejected messages", .temporaryFolder)
struct RejectedTests {
    private func messages(_ numbers: ClosedRange<Int64>) -> IngestGroup {
        IngestGroup(
            rejected: numbers.map {
                RejectedMessage(at: time($0), topic: "lockstep/x", reason: "\($0)", size: 5000, head: [])
            })
    }

    @Test("the newest messages are kept up to the limit")
    func limit() throws {
        var options = SQLiteStore.Options()
        options.rejectedLimit = 5
        let store = try newStore(options).store
        for numbers in [1...3, 4...6, 7...20] as [ClosedRange<Int64>] { _ = try store.write(messages(numbers)) }
        #expect(
            try store.database.rows("SELECT reason FROM rejected ORDER BY id") == ["16", "17", "18", "19", "20"])
        _ = try store.write(messages(21...21))
        #expect(try store.database.rows("SELECT min(reason), count(*) FROM rejected") == ["17|5"])
    }

    @Test("payloads and topics are truncated to 256 bytes, and an empty payload is an empty blob")
    func head() throws {
        let store = try newStore().store
        _ = try store.write(
            IngestGroup(rejected: [
                RejectedMessage(
                    at: time(1), topic: String(repeating: "t", count: 60_000), reason: "long", size: 400,
                    head: Array(repeating: 7, count: 400)),
                RejectedMessage(at: time(2), topic: "t", reason: "empty", size: 0, head: []),
            ]))
        #expect(
            try store.database.rows("SELECT size, length(head), typeof(head), length(topic) FROM rejected")
                == ["400|256|blob|256", "0|0|blob|1"])
    }
}
