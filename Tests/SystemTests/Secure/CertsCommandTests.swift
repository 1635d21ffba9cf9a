import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep certs", .enabled(if: Programs.isInstalled("openssl"), "openssl is not installed"))
struct CertsCommandTests {
    @Test("keys are readable only by their owner, and valid files are kept when the command runs again")
    func idempotent() async throws {
        try await withTemporaryFolder { folder in
            let certificates = folder + "/secure"
            let credentials = try await Credentials.make(in: certificates)
            try await credentials.add("walker")
            for path in ["ca.key", "broker.key", "collector.key", "devices/lab/walker/device.key"] {
                let attributes = try FileManager.default.attributesOfItem(atPath: certificates + "/" + path)
                #expect(attributes[.posixPermissions] as? Int == 0o600, "\(path)")
            }
            let names = ["ca.key", "ca.pem", "broker.pem", "broker.key", "reader.pem", "devices/lab/walker/device.pem"]
            let before = try names.map { try String(contentsOfFile: certificates + "/" + $0, encoding: .utf8) }
            _ = try await Credentials.make(in: certificates)
            #expect(try await credentials.add("walker").hasPrefix("kept "))
            #expect(before == (try names.map { try String(contentsOfFile: certificates + "/" + $0, encoding: .utf8) }))
        }
    }

    @Test("changed settings are kept, and the new ones are written beside them")
    func changedSettings() async throws {
        try await withTemporaryFolder { folder in
            _ = try await Credentials.make(in: folder)
            let rules = folder + "/production.acl"
            try "user lab/lost\ntopic deny #\n".write(toFile: rules, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(Programs.built("lockstep"), ["certs", "broker", "--certs", folder])
            #expect(run.text.contains("kept   \(rules)"), "\(run.text)")
            #expect(try String(contentsOfFile: rules, encoding: .utf8).hasPrefix("user lab/lost"))
            #expect(FileManager.default.fileExists(atPath: rules + ".new"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/mosquitto.conf.new"))
        }
    }

    @Test("settings that nobody has changed are replaced when the options change")
    func unchangedSettings() async throws {
        try await withTemporaryFolder { folder in
            _ = try await Credentials.make(in: folder)
            let credentials = try await Credentials.make(in: folder, ["--host", "broker.example", "--passwords"])
            let conf = try String(contentsOfFile: folder + "/mosquitto.conf", encoding: .utf8)
            #expect(conf.contains("\nlistener 8884\n"))
            #expect(try await credentials.add("ant", ["--password"]).hasPrefix("made "))
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(!files.contains { $0.hasSuffix(".new") }, "\(files)")
        }
    }

    @Test("page and gateway take a certificate of 'web', and refuse that of a client with advice")
    func web() async throws {
        try await withTemporaryFolder { folder in
            _ = try await Credentials.make(in: folder)
            let run = try await RunningProgram.run(
                Programs.built("lockstep"), ["certs", "web", "localhost", "127.0.0.1", "--certs", folder])
            #expect(run.text.contains("made   \(folder)/web.pem"), "\(run.text)")
            #expect(run.text.contains("web.key --authority-file \(folder)/ca.pem …"), "\(run.text)")
            #expect(run.text.contains("https://localhost:8443/ca.pem to trust"), "\(run.text)")
            let check = try await RunningProgram.run(
                "/usr/bin/openssl",
                ["verify", "-CAfile", folder + "/ca.pem", "-purpose", "sslserver", folder + "/web.pem"])
            #expect(check.status == 0, "\(check.text)")
            let programs = [
                ["lockstep-serve", "--store", "sqlite:\(folder)/samples.db"],
                ["lockstep-gateway", "--outbox", folder + "/gateway.db", "--accept", "any"],
            ]
            for program in programs {
                let refused = try await RunningProgram.run(
                    Programs.built(program[0]),
                    program.dropFirst() + [
                        "--broker", "mqtt://127.0.0.1:1", "--listen", "127.0.0.1:0", "--server-cert-file",
                        folder + "/serve.pem", "--server-key-file", folder + "/serve.key",
                    ])
                #expect(refused.status == 1)
                #expect(refused.text.contains("is not for servers"), "\(refused.text)")
            }
        }
    }

    @Test("the broker's certificate is renewed for other names, and a device's before it expires")
    func renewed() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder)
            let hosts = ["--host", "broker.example", "--host", "10.0.0.7", "--host", "fd00::7"]
            for word in ["made", "kept"] {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"), ["certs", "broker", "--certs", folder] + hosts)
                #expect(run.text.contains("\(word)   \(folder)/broker.pem"), "\(run.text)")
                #expect(run.text.contains("kept   \(folder)/collector.pem"), "\(run.text)")
            }
            // Certificates are renewed if they expire within 30 days.
            for _ in 0..<2 { #expect(try await credentials.add("walker", ["--days", "20"]).hasPrefix("made ")) }
        }
    }

    @Test("a device keeps its password, and adding it does not change the passwords of others")
    func passwords() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder, ["--passwords"])
            #expect(try await credentials.add("ant", ["--password"]).hasPrefix("made "))
            #expect(try await credentials.add("an", ["--password"]).hasPrefix("made "))
            let before = try String(contentsOfFile: folder + "/passwords", encoding: .utf8)
            #expect(before.split(separator: "\n").map { $0.prefix(while: { $0 != ":" }) } == ["lab/ant", "lab/an"])
            #expect(try await credentials.add("ant", ["--password"]).hasPrefix("kept "))
            #expect(before == (try String(contentsOfFile: folder + "/passwords", encoding: .utf8)))
            let secret = try String(contentsOfFile: folder + "/devices/lab/ant/password", encoding: .utf8)
            #expect(!before.contains(secret.dropLast()))
        }
    }

    @Test(
        "invalid arguments are refused with the reason",
        arguments: [
            ("broker --days 0", "--days takes a whole number from 1 to 3650"),
            ("broker --host a_b", "--host takes a host name or an IP address"),
            ("broker --certs /proc/secure", "cannot create the folder /proc/secure"),
            ("web", "Missing expected argument"),
            ("device", "Missing expected argument"),
            ("device a/b", "'a/b' is not a valid name"),
            ("device --group # a", "'#' is not a valid name"),
            ("device motion", "'motion' cannot be the name of a device"),
            ("device --certs /nowhere a", "run 'lockstep certs broker --certs /nowhere' first"),
        ])
    func wrongUse(arguments: String, reason: String) async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["certs"] + arguments.split(separator: " ").map(String.init))
        #expect(run.status != 0)
        #expect(run.text.contains(reason), "\(run.text)")
    }

    @Test("a name that is too long, and a password for a broker without passwords, are refused with advice")
    func advice() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder)
            for (arguments, reason) in [
                ([String(repeating: "x", count: 61)], "or use --password"),
                (["ant", "--password"], "--passwords' first"),
            ] {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["certs", "device", "--certs", credentials.folder, "--group", "lab"] + arguments)
                #expect(run.status == 1)
                #expect(run.text.contains(reason), "\(run.text)")
            }
        }
    }
}
