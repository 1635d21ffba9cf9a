import Foundation
import LockstepCollector
import LockstepTestSupport
import Testing

@Suite("Key-value bucket", .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"))
struct KeyValueBucketTests {
    @Test("a value is written only if its key has the expected revision")
    func compareAndSet() async throws {
        try await withServer { server in
            let one = try server.bucket()
            let two = try server.bucket()
            #expect(try one.value(of: "a/b") == nil)
            let first = try one.write([1, 0, 255], to: "a/b", expecting: nil)
            #expect(throws: NATSError.self) { try two.write([2], to: "a/b", expecting: nil) }
            #expect(try two.value(of: "a/b") == KeyValueEntry(value: [1, 0, 255], revision: first))
            let second = try two.write([], to: "a/b", expecting: first)
            #expect(second > first)
            let error = #expect(throws: NATSError.self) { try one.write([3], to: "a/b", expecting: first) }
            #expect(error?.description.contains("wrong last sequence") == true, "\(error?.description ?? "")")
            #expect(try one.value(of: "a/b") == KeyValueEntry(value: [], revision: second))
            #expect(try one.value(of: "a") == nil)
        }
    }

    @Test("a bucket connects again after its server was restarted, and has what was written")
    func restart() async throws {
        try await withServer { server in
            let bucket = try server.bucket()
            let revision = try bucket.write([1], to: "a", expecting: nil)
            await server.stop()
            let error = #expect(throws: NATSError.self) { try bucket.value(of: "a") }
            #expect(error?.description.contains("cannot") == true)
            try await server.start()
            await expectEventually { (try? bucket.value(of: "a")) == KeyValueEntry(value: [1], revision: revision) }
            _ = try bucket.write([2], to: "a", expecting: revision)
        }
    }

    @Test("the next server is used if one does not answer")
    func failover() async throws {
        try await withServer { server in
            let dead = try freePort()
            let bucket = try server.bucket(servers: "nats://127.0.0.1:\(dead),nats://127.0.0.1:\(server.port)")
            for value in UInt8(1)...10 {
                _ = try bucket.write([value], to: "key\(value)", expecting: nil)
                bucket.close()
            }
        }
    }

    @Test("the user and the password are used")
    func credentials() async throws {
        try await withServer(settings: "authorization { user: me, password: secret }") { server in
            let bucket = try server.bucket()
            let error = #expect(throws: NATSError.self) { try bucket.value(of: "a") }
            #expect(error?.description.contains("uthor") == true, "\(error?.description ?? "")")
            let permitted = try server.bucket(user: "me", password: "secret")
            let entry = try permitted.value(of: "a")
            #expect(entry == nil)
        }
    }

    @Test("a user that may read the bucket and not write it is found by a probe, and the error says what is missing")
    func noWriteRights() async throws {
        let settings = """
            authorization { users: [
                { user: "owner", password: "a" }
                { user: "guest", password: "b", permissions: { publish: { deny: ["$KV.test.>"] } } }
            ] }
            """
        try await withServer(settings: settings) { server in
            let owner = try server.bucket(user: "owner", password: "a")
            for _ in 0..<2 { try owner.checkWrite(to: "probe/one") }
            let guest = try server.bucket(user: "guest", password: "b")
            #expect(try guest.value(of: "probe/one")?.revision == 2)
            let error = #expect(throws: NATSError.self) { try guest.checkWrite(to: "probe/two") }
            #expect(error?.description.contains("allowed to publish to $KV.test.>") == true, "\(error as Any)")
        }
    }

    @Test("without JetStream, the error names the bucket")
    func noJetStream() async throws {
        try await withServer(hasJetStream: false) { server in
            let bucket = try server.bucket()
            let error = #expect(throws: NATSError.self) { try bucket.value(of: "a") }
            #expect(error?.description.contains("cannot open the bucket 'test': is JetStream enabled") == true)
        }
    }
}

/// A single NATS server on a free loopback port.
private final class Server {
    let port: UInt16
    private let configuration: String
    private var program: RunningProgram?

    init(folder: String, hasJetStream: Bool, settings: String) throws {
        port = try freePort()
        configuration = folder + "/nats.conf"
        let jetStream = hasJetStream ? "jetstream { store_dir: \"\(folder)/store\" }\n" : ""
        try "server_name: one\nlisten: \"127.0.0.1:\(port)\"\n\(jetStream)\(settings)\n"
            .write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    func start() async throws {
        let program = try RunningProgram(Programs.installed("nats-server") ?? "", ["-c", configuration])
        self.program = program
        guard await eventually({ canConnect(port: port) }) else { throw ProgramError(program.text) }
    }

    func stop() async { await program?.stop(SIGKILL) }

    func bucket(servers: String? = nil, user: String? = nil, password: String? = nil) throws -> KeyValueBucket {
        let servers = try NATSServers(servers ?? "nats://127.0.0.1:\(port)")
        var options = NATSOptions(servers: servers, name: "test")
        options.user = user
        options.password = password
        return KeyValueBucket("test", options)
    }
}

private func withServer(
    hasJetStream: Bool = true, settings: String = "", _ body: (Server) async throws -> Void
) async throws {
    try await withTemporaryFolder { folder in
        let server = try Server(folder: folder, hasJetStream: hasJetStream, settings: settings)
        try await finally({ await server.stop() }) {
            try await server.start()
            try await body(server)
        }
    }
}
