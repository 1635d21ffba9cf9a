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
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, size) == 0 && listen(listener, 1) == 0
                    && getsockname(listener, generic, &size) == 0
            }
        }
        try #require(isBound)
        let url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/config"
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
