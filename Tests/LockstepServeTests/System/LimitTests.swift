import Foundation
import Glibc
import LockstepTestSupport
import Testing

@Suite("Limits of lockstep-serve", .serialized)
struct LimitTests {
    @Test("half-sent requests are ended", arguments: ["", "GET / HTTP/1.1\r\nHost: local", "GET /heal"])
    func halfSentHead(_ text: String) async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let connection = try RawConnection(port: server.port)
            connection.write(text)
            #expect(connection.read().hasPrefix("HTTP/1.1 408 "))
            try await expectEventually("closed") { try await server.metric("lockstep_serve_connections") == 1 }
        }
    }

    @Test("a half-sent body is ended, also if its bytes trickle in")
    func halfSentBody() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let connection = try RawConnection(port: server.port)
            connection.write(
                "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: 1000\r\n\r\n{")
            await expectEventually("closed") {
                connection.write(" ")
                return connection.isClosed
            }
        }
    }

    @Test("idle connections beyond the limit are closed, and keep nobody out for long")
    func idleConnections() async throws {
        try await withSystem { system in
            _ = try system.startAgent("a")
            let server = try await TestServer(system)
            let live = try server.events("/api/v1/live?device=*")
            #expect(await live.waitForOutput("event: samples"))
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = limit.rlim_max
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // 10,000, or what the limit of open files allows.
            let count = min(10_000, Int(limit.rlim_cur) - 500)
            var idle: [RawConnection] = []
            for _ in 0..<count { idle.append(try RawConnection(port: server.port)) }
            // Soon after the limit of 1000: the first ones may have been ended before the last ones connected.
            let refused = try #require(idle.count > 1100 ? idle[1100] : nil)
            #expect(refused.read().hasPrefix("HTTP/1.1 503 "))
            // The others are ended by the time limit of a request, while all clients keep them open.
            await expectEventually("an answer") { (try? await server.get("/healthz").status) == 200 }
            let before = live.text.count
            await expectEventually("samples") { live.text.count > before }
            #expect(try await server.metric("process_resident_memory_bytes").map { $0 < 400_000_000 } == true)
            for connection in idle { connection.close() }
            await live.stop()
        }
    }
}
