import Foundation
import LockstepStore
import LockstepTestSupport
import Testing

/// Brokers of Debian that few use with Lockstep. `deploy/check --brokers` runs these tests.
@Suite("Other brokers", .serialized)
struct OtherBrokerTests {
    @Test(
        "agent and collector are killed, and every sample is stored once",
        arguments: OtherBroker.allCases.filter(\.isInstalled))
    func kills(kind: OtherBroker) async throws {
        try await withSystem { system in
            let port = try freePort()
            let broker = try kind.start(in: system.folder, port: port)
            let url = "mqtt://127.0.0.1:\(port)"
            let password = system.folder + "/password"
            _ = FileManager.default.createFile(
                atPath: password, contents: Data("guest\n".utf8), attributes: [.posixPermissions: 0o600])
            let login = ["--user", "guest", "--password-file", password]
            do {
                await expectEventually("\(broker.text)") { canConnect(port: port) }
                var collector = try system.startCollector(login, url: url)
                var agent = try system.startAgent("left-foot", login, url: url)
                let reader = try await system.reader()
                try await expectEventually { try reader.devices().first.map { $0.samples > 300 } ?? false }
                #expect(agent.text.contains("mqtt=\(kind.version)"), "\(agent.text)")
                await collector.stop(SIGKILL)
                collector = try system.startCollector(login, url: url)
                try await expectEventually { try reader.devices().first.map { $0.samples > 600 } ?? false }
                await agent.stop(SIGKILL)
                agent = try system.startAgent("left-foot", login, url: url)
                try await expectEventually { try reader.devices().first.map { $0.samples > 900 } ?? false }
                await agent.stop()
                // A replaying agent ends when all batches are acknowledged, including old ones.
                let recording = system.folder + "/one-sample.csv"
                try "t_us,x_g,y_g,z_g\n0,0,0,-1\n".write(toFile: recording, atomically: true, encoding: .utf8)
                let last = try system.startAgent("left-foot", source: "replay:\(recording)", login, url: url)
                #expect(await last.waitForExit() == 0, "\(agent.text)\(last.text)\(collector.text)")
                let verification = try await system.verify(["left-foot"])
                #expect(verification.status == 0, "\(verification.text)")
            } catch {
                // The server of RabbitMQ is a child of its script.
                broker.signalGroup(SIGKILL)
                throw error
            }
            broker.signalGroup(SIGKILL)
        }
    }

    @Test("RabbitMQ and ejabberd are installed", .enabled(if: OtherBroker.isRequested, "LOCKSTEP_BROKERS is not set"))
    func installed() { for kind in OtherBroker.allCases { #expect(kind.isInstalled, "\(kind)") } }
}

/// A broker, and how it is started on a loopback port.
enum OtherBroker: CaseIterable {
    case rabbitMQ
    case ejabberd

    static var isRequested: Bool { ProcessInfo.processInfo.environment["LOCKSTEP_BROKERS"] != nil }

    var isInstalled: Bool {
        switch self {
        case .rabbitMQ: FileManager.default.isExecutableFile(atPath: "/usr/lib/rabbitmq/bin/rabbitmq-server")
        case .ejabberd: Programs.isInstalled("ejabberdctl") && Programs.isInstalled("erl")
        }
    }

    /// The version of MQTT that agents use with it.
    var version: String { self == .rabbitMQ ? "3.1.1" : "5" }

    func start(in folder: String, port: UInt16) throws -> RunningProgram {
        // Erlang writes a cookie into the home folder.
        var environment = ["HOME": folder, "PATH": "/usr/sbin:/usr/bin:/bin", "ERL_EPMD_ADDRESS": "127.0.0.1"]
        switch self {
        case .rabbitMQ:
            try """
            listeners.tcp.1 = 127.0.0.1:\(try freePort())
            mqtt.listeners.tcp.1 = 127.0.0.1:\(port)
            """.write(toFile: folder + "/rabbitmq.conf", atomically: true, encoding: .utf8)
            try "[rabbitmq_mqtt].".write(toFile: folder + "/plugins", atomically: true, encoding: .utf8)
            for (name, value) in [
                ("NODENAME", "lockstep-\(port)@localhost"), ("CONFIG_FILE", folder + "/rabbitmq.conf"),
                ("MNESIA_BASE", folder + "/data"), ("LOG_BASE", folder + "/log"), ("PID_FILE", folder + "/pid"),
                ("ENABLED_PLUGINS_FILE", folder + "/plugins"), ("DIST_PORT", "\(try freePort())"),
                ("SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}"),
            ] { environment["RABBITMQ_" + name] = value }
            return try RunningProgram("/usr/lib/rabbitmq/bin/rabbitmq-server", environment: environment)
        case .ejabberd:
            try """
            hosts: [localhost]
            listen:
              - {port: \(port), ip: "127.0.0.1", module: mod_mqtt}
            auth_method: [anonymous]
            anonymous_protocol: login_anon
            allow_multiple_connections: true
            modules:
              mod_mqtt: {}
            """.write(toFile: folder + "/ejabberd.yml", atomically: true, encoding: .utf8)
            environment["ERL_LIBS"] = "/usr/lib/\(Self.architecture)-linux-gnu"
            environment["EJABBERD_CONFIG_PATH"] = folder + "/ejabberd.yml"
            environment["EJABBERD_LOG_PATH"] = folder + "/ejabberd.log"
            return try RunningProgram(
                Programs.installed("erl") ?? "",
                ["-noinput", "-mnesia", "dir", "\"\(folder)/spool\"", "-s", "ejabberd"], environment: environment)
        }
    }

    private static var architecture: String {
        #if arch(arm64)
            "aarch64"
        #else
            "x86_64"
        #endif
    }
}
