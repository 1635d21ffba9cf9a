import Foundation
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepGateway

@Suite("HTTP requests to a phone", .timeLimit(.minutes(2)))
struct HTTPGetTests {
    @Test("a request to a phone that does not answer ends when the program stops")
    func stopped() throws {
        // The kernel accepts the connection, and nobody answers.
        let listener = try LoopbackListener()
        defer { listener.close() }
        let url = "http://127.0.0.1:\(listener.port)/config"
        for calls in [0, 3] {
            let count = Atomic(0)
            let failure = #expect(throws: HTTPGet.Failure.self) {
                try HTTPGet.body(of: url, limit: 1) {
                    count.add(1, ordering: .relaxed).oldValue >= calls
                }
            }
            #expect(failure?.description == "the request was stopped")
        }
    }

    @Test("an answer is read to its end, unless it is larger than allowed")
    func answered() throws {
        let server = try PhoneServer(FakePhone())
        defer { server.stop() }
        let body = try HTTPGet.body(of: server.url + "/time", limit: 2) { false }
        #expect(body == Array("[]".utf8))
        let failure = #expect(throws: HTTPGet.Failure.self) {
            try HTTPGet.body(of: server.url + "/time", limit: 1) { false }
        }
        #expect(failure?.isTooLarge == true)
        #expect(throws: HTTPGet.Failure.self) { try HTTPGet.body(of: server.url + "/none", limit: 9) { false } }
    }
}
