import Foundation
import Glibc
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite("Limits of lockstep-serve", .serialized)
struct LimitTests {
    @Test("half-sent requests are ended")
    func halfSentHead() async throws {
        try await withSystem { system in
            let server = try await TestServer(system)
            let texts = ["", "GET / HTTP/1.1\r\nHost: local", "GET /heal"]
            let connections = try texts.map { text in
                let connection = try RawConnection(port: server.port)
                connection.write(text)
                return connection
            }
            for (text, connection) in zip(texts, connections) {
                #expect(connection.read().hasPrefix("HTTP/1.1 408 "), "\(text)")
            }
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

    @Test("clients that do not read their answers stay within the memory for answers, and others are answered")
    func slowReaders() async throws {
        try await withSystem { system in
            // Without a window for the answer, so that the system takes little of it from the server.
            let times = (0..<100_000).map { 1_700_000_000_000_000 + $0 * 10_000 }
            let block = SampleBlock(
                stream: .pressure, times: times.map(Int64.init),
                columns: SensorStream.pressure.columns.map { _ in times.map { Double($0 % 1_000_003) } })
            let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "a"))
            let batch = ReceivedBatch(
                device: device, batch: Batch(position: nil, samples: block),
                receivedAt: Timestamp(microseconds: 1_700_000_000_000_000))
            _ = try SQLiteStore(path: system.storePath).write(IngestGroup(batches: [batch]))
            let server = try await TestServer(system, ["--max-unsent", "2M"])
            let path =
                "/api/v1/devices/default/a/streams/\(SensorStream.pressure.name)?format=ndjson&from=1700000000000000"
                + "&to=1700001000000000"
            let expected = try await server.get(path).body.split(separator: "\n").count
            let before = try #require(try await server.metric("process_resident_memory_bytes"))
            var slow: [RawConnection] = []
            for _ in 0..<60 {
                let connection = try RawConnection(port: server.port, receiveBuffer: 4096)
                connection.write("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
                slow.append(connection)
            }
            // Pages may use three quarters of the memory.
            await expectEventually("full") {
                (try? await server.metric("lockstep_serve_unsent_bytes")).flatMap { $0 }.map { $0 > 1_000_000 } ?? false
            }
            let unsent = try #require(try await server.metric("lockstep_serve_unsent_bytes"))
            let after = try #require(try await server.metric("process_resident_memory_bytes"))
            #expect(unsent <= 2_097_152 && after - before < 20_000_000, "\(unsent), \(after - before)")
            #expect(try await server.get("/api/v1/devices").status == 200)
            for connection in slow { connection.close() }
            try await expectEventually("released") { try await server.metric("lockstep_serve_unsent_bytes") == 0 }
            #expect(expected == 100_000)
            #expect(try await server.get(path).body.split(separator: "\n").count == expected)
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
