import Foundation
import LockstepCollector
import LockstepMQTT
import LockstepTestSupport
import Testing

@Suite("The lease server", .enabled(if: Programs.isInstalled("nats-server"), "nats-server is not installed"))
struct LeaseServerTests {
    @Test("with the shipped configuration, a collector can keep leases, and nobody else can log in")
    func rights() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder + "/secure")
            try await credentials.add("arm-left")
            let port = try freePort()
            let file = folder + "/lease-server.conf"
            try String(contentsOfFile: Programs.source("broker-config/lease-server.conf"), encoding: .utf8)
                .replacing("/etc/nats/lockstep", with: credentials.folder)
                .replacing("/var/lib/nats/lockstep", with: folder + "/leases")
                .replacing("0.0.0.0:4222", with: "127.0.0.1:\(port)")
                .write(toFile: file, atomically: true, encoding: .utf8)
            let server = try RunningProgram(Programs.installed("nats-server") ?? "", ["-c", file])
            await expectEventually("\(server.text)", within: .seconds(30)) { canConnect(port: port) }
            func bucket(_ user: String) throws -> KeyValueBucket {
                var options = NATSOptions(servers: try NATSServers("tls://localhost:\(port)"), name: "test")
                let tls = credentials.tls(user)
                options.authorityFile = tls.authorityFile
                options.certificateFile = tls.certificateFile
                options.keyFile = tls.keyFile
                return KeyValueBucket("lockstep-leases", options)
            }
            let collector = try bucket("collector")
            let revision = try collector.write([1], to: "share", expecting: nil)
            #expect(try collector.value(of: "share") == KeyValueEntry(value: [1], revision: revision))
            #expect(throws: NATSError.self) { try collector.write([2], to: "share", expecting: nil) }
            for user in ["lab/arm-left", "reader", "serve"] {
                let error = #expect(throws: NATSError.self, "\(user)") { try bucket(user).value(of: "share") }
                #expect("\(error as Any)".contains("Authorization Violation"), "\(user): \(error as Any)")
            }
            await server.stop(SIGKILL)
        }
    }
}
