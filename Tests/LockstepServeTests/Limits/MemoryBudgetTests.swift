import HTTPTypes
import HummingbirdCore
import LockstepHTTP
import LockstepModel
import NIOCore
import NIOEmbedded
import Testing

@testable import LockstepServe

@Suite("Memory for answers")
struct MemoryBudgetTests {
    @Test("all clients together get the maximum, and each of them a quarter")
    func shares() {
        let budget = MemoryBudget(maximum: 1000)
        let first = budget.reserve(200, for: "a")
        #expect(first != nil && budget.reserve(51, for: "a") == nil)
        let others = ["b", "c", "d"].map { budget.reserve(250, for: $0) }
        #expect(others.allSatisfy { $0 != nil } && budget.reserved == 950)
        #expect(budget.reserve(51, for: "e") == nil)
        // Behind an address that many clients share, only the maximum applies.
        #expect(budget.reserve(50, for: nil) != nil)
        withExtendedLifetime((first, others)) {}
    }

    @Test("what is released or turns out smaller can be used again")
    func release() {
        let budget = MemoryBudget(maximum: 1000)
        var room = budget.reserve(250, for: "a")
        #expect(budget.reserve(1, for: "a") == nil)
        room?.resize(to: 100)
        #expect(budget.reserved == 100 && budget.reserve(150, for: "a") != nil)
        room = nil
        #expect(budget.reserved == 0)
    }

    @Test("what is larger than the share or the maximum is possible while nothing else is reserved")
    func large() {
        let budget = MemoryBudget(maximum: 1000)
        let room = budget.reserve(5000, for: "a")
        #expect(room != nil && budget.reserve(1, for: "b") == nil)
        withExtendedLifetime(room) {}
    }

    @Test("pages become small and are then refused before other answers are")
    func pages() throws {
        let target = try RequestTarget("/?from=0&to=1000000")
        let query = try StreamQuery(
            device: DeviceAddress(group: .standard, device: DeviceID(unchecked: "a")), stream: .pressure,
            QueryParameters(target.query, allowed: StreamQuery.parameters), ServeLimits(),
            now: Timestamp(microseconds: 1_000_000))
        let memory = AnswerMemory(
            budget: MemoryBudget(maximum: 8 << 20), client: Client(limitKey: nil, address: "127.0.0.1"),
            channel: EmbeddedChannel())
        var pages: [AnswerMemory.Page] = []
        while let page = memory.page(of: query) { pages.append(page) }
        let rows = pages.map(\.rows)
        #expect(rows.first == 10_000 && rows.last == 500 && rows == rows.sorted(by: >), "\(rows)")
        #expect(rows.filter { $0 == 500 }.count > 10)
        let answer = Response(
            status: .ok, body: .init(byteBuffer: ByteBuffer(bytes: [UInt8](repeating: 32, count: 1 << 20))))
        let held = memory.hold(answer)
        #expect(held.status == .ok && held.body.contentLength == 1 << 20)
        #expect(memory.hold(answer, isPublic: true).status.code == 503)
        #expect([memory.hold(answer), memory.hold(answer)].map(\.status.code) == [200, 503])
        withExtendedLifetime((pages, held)) {}
    }
}
