import Foundation
import LockstepTestSupport
import Testing

@Suite("deploy/certs and deploy/device-add", .enabled(if: Programs.isInstalled("openssl"), "openssl is not installed"))
struct CredentialScriptTests {
    @Test("keys are readable only by their owner, and valid files are kept when the scripts run again")
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
            let run = try await RunningProgram.run(Programs.source("deploy/certs"), ["--out", folder])
            #expect(run.text.contains("kept   \(rules)"), "\(run.text)")
            #expect(try String(contentsOfFile: rules, encoding: .utf8).hasPrefix("user lab/lost"))
            #expect(FileManager.default.fileExists(atPath: rules + ".new"))
            #expect(!FileManager.default.fileExists(atPath: folder + "/mosquitto.conf.new"))
        }
    }

    @Test("the broker's certificate is renewed for other names, and a device's before it expires")
    func renewed() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder)
            let hosts = ["--host", "broker.example", "--host", "10.0.0.7", "--host", "fd00::7"]
            for word in ["made", "kept"] {
                let run = try await RunningProgram.run(Programs.source("deploy/certs"), ["--out", folder] + hosts)
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
            ("certs", ["--days", "0"], "--days takes a whole number from 1 to 3650"),
            ("certs", ["--host", "a b"], "--host takes a host name or an IP address"),
            ("certs", ["--out", "/proc/secure"], "cannot create the folder /proc/secure"),
            ("certs", ["more"], "unknown argument 'more'"),
            ("device-add", [], "the name of the device is missing"),
            ("device-add", ["a/b"], "'a/b' is not a valid name"),
            ("device-add", ["--group", "#", "a"], "'#' is not a valid name"),
            ("device-add", ["a", "b"], "only one device"),
            ("device-add", ["motion"], "'motion' cannot be the name of a device"),
            ("device-add", ["--certs", "/nowhere", "a"], "run deploy/certs --out /nowhere first"),
        ])
    func wrongUse(script: String, arguments: [String], reason: String) async throws {
        let run = try await RunningProgram.run(Programs.source("deploy/" + script), arguments)
        #expect(run.status != 0)
        #expect(run.text.contains(reason), "\(run.text)")
    }

    @Test("a name that is too long, and a password for a broker without passwords, are refused with advice")
    func advice() async throws {
        try await withTemporaryFolder { folder in
            let credentials = try await Credentials.make(in: folder)
            for (arguments, reason) in [
                ([String(repeating: "x", count: 61)], "or use --password"),
                (["ant", "--password"], "--passwords first"),
            ] {
                let run = try await RunningProgram.run(
                    Programs.source("deploy/device-add"), ["--certs", credentials.folder, "--group", "lab"] + arguments)
                #expect(run.status == 1)
                #expect(run.text.contains(reason), "\(run.text)")
            }
        }
    }
}
