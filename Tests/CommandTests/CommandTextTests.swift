import Foundation
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("Texts of the command line")
struct CommandTextTests {
    /// Each command without subcommands.
    static let commands: [[String]] = [
        [], ["up"], ["watch"], ["devices"], ["doctor"], ["command"], ["query"], ["export"], ["verify"], ["copy"],
        ["clock"], ["delete"], ["archive"], ["record", "start"], ["record", "mark"], ["record", "stop"],
        ["record", "list"], ["record", "show"], ["record", "edit"],
        ["align"], ["refine", "attitude"], ["refine", "steps"], ["refine", "track"], ["analyze", "attitude"],
        ["analyze", "orientation"], ["analyze", "steps"], ["analyze", "walk"], ["analyze", "activity"],
        ["analyze", "set"], ["rules", "check"], ["rules", "list"],
        ["rules", "test"], ["deliveries"], ["simulate"], ["certs", "broker"], ["certs", "device"], ["certs", "web"],
        ["backup"], ["hold"], ["compact"], ["calibrate"], ["forget"],
    ]

    @Test(
        "the help fits into 80 columns, no sentence or example is broken, and no default is repeated",
        arguments: commands)
    func help(command: [String]) async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep"), command + ["--help"])
        let lines = run.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines.filter { $0.count > 80 })")
        #expect(!run.text.split(whereSeparator: \.isWhitespace).joined(separator: " ").contains("). (default:"))
        // A line ends within a sentence only if the next word does not fit.
        let broken = zip(lines, lines.dropFirst()).filter { line, next in
            line.first?.isLetter == true && next.first?.isLowercase == true
                && line.count + 1 + next.prefix { $0 != " " }.count < 80
        }
        #expect(broken.isEmpty)
        if let start = lines.firstIndex(where: { $0.hasPrefix("EXAMPLE") }) {
            let examples = lines[(start + 1)...].prefix { !$0.isEmpty }
            #expect(examples.allSatisfy { $0.hasPrefix("  lockstep ") }, "\(examples)")
        }
    }

    /// The commands and programs that connect to a broker.
    static let connecting =
        [
            ["watch"], ["doctor"], ["command", "x"], ["forget"], ["delete"], ["archive"], ["record", "start"],
            ["record", "mark"], ["record", "stop"], ["record", "edit"], ["simulate"],
        ].map { ["lockstep"] + $0 }
        + [["lockstep-agent"], ["lockstep-collector"], ["lockstep-serve"], ["lockstep-gateway"]]

    @Test("the options of the broker are the last in the help", arguments: connecting)
    func brokerLast(command: [String]) async throws {
        let run = try await RunningProgram.run(Programs.built(command[0]), command.dropFirst() + ["--help"])
        let options = run.text.split(separator: "\n").filter { $0.hasPrefix("  --") || $0.hasPrefix("  -h") }
            .map { $0.trimmingCharacters(in: .whitespaces).prefix { $0 != " " && $0 != "," } }
        let first = try #require(options.firstIndex(of: "--broker"))
        let broker = [
            "--broker", "--mqtt", "--keep-alive", "--user", "--password-file", "--client-id-file", "--ca-file",
            "--cert-file", "--key-file", "--version", "-h",
        ]
        #expect(options[first...].allSatisfy { broker.contains(String($0)) }, "\(options[first...])")
    }

    @Test(
        "mistakes on the command line are explained",
        arguments: [
            (["watch", "--hlep"], "Error: Unknown option '--hlep'. Did you mean '--help'?\n"),
            (["query", "steps", "--json", "--csv"], "Error: use --json or --csv, not both\n"),
            (
                ["rules", "chek", "x"],
                "Error: 'lockstep rules' has no subcommand 'chek': did you mean 'check'?\nUse one of: check, list, test\n"
            ),
            (
                ["quary"],
                "Error: 'lockstep' has no subcommand 'quary': did you mean 'query'?\nUse one of: up, certs, watch, devices"
            ),
            (["devices"], "use --store sqlite:PATH or --store clickhouse://HOST/DATABASE, or set LOCKSTEP_STORE"),
            (
                ["record", "start", "walk", "--rate", "motion/acelerometer=200"],
                "--rate: unknown stream 'motion/acelerometer': did you mean 'motion/accelerometer'?"
            ),
            (["watch", "--broker", "x"], "use mqtt[s]://[user@]host[:port]"),
            (
                ["up", "--folder", "/proc/x"],
                "cannot create the folder /proc/x: No such file or directory: name another"
            ),
        ])
    func mistakes(arguments: [String], answer: String) async throws {
        let run = try await RunningProgram.run(Programs.built("lockstep"), arguments)
        #expect(run.status != 0 && run.text.contains(answer), "\(run.text)")
    }

    @Test("watch without a broker fails when its time is over")
    func noBroker() async throws {
        let port = try freePort()
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["watch", "--seconds", "1", "--broker", "mqtt://127.0.0.1:\(port)"])
        let answer = "Error: mqtt://127.0.0.1:\(port): Connection refused"
        #expect(run.status == 1 && run.text.contains(answer), "\(run.text)")
    }

    @Test("a port of another protocol is explained")
    func otherProtocols() async throws {
        let listener = try LoopbackListener()
        let answers = Task.detached {
            while let connection = listener.accept() {
                var buffer = [UInt8](repeating: 0, count: 1000)
                _ = read(connection, &buffer, buffer.count)
                let answer = Array("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n".utf8)
                // A web server does not know TLS either, and closes the connection.
                if buffer[0] != 0x16 { _ = write(connection, answer, answer.count) }
                close(connection)
            }
        }
        defer {
            listener.close()
            answers.cancel()
        }
        let port = listener.port
        let watch = { @Sendable (scheme: String) async throws -> String in
            try await RunningProgram.run(
                Programs.built("lockstep"),
                ["watch", "--seconds", "3", "--broker", "\(scheme)://127.0.0.1:\(port)"]
            ).text
        }
        async let plain = watch("mqtt")
        async let encrypted = watch("mqtts")
        for (text, part) in [
            (try await plain, "the server does not speak MQTT: check that the port is that of an MQTT broker"),
            (try await encrypted, "check that the port uses TLS; if not, use mqtt://"),
        ] { #expect(text.contains(part) && !text.contains("Success"), "\(text)") }
    }

    @Test("rules can be listed as JSON, with groups and devices apart")
    func rules() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/rules.yaml"
            try """
            rules:
              a: {when: {shake: any}, groups: [lab], devices: ["walker-*", van]}
            """.write(toFile: file, atomically: true, encoding: .utf8)
            let json = try await RunningProgram.run(Programs.built("lockstep"), ["rules", "list", file, "--json"])
            #expect(
                json.text
                    == #"{"rule":"a","when":"shake","groups":["lab"],"devices":["walker-*","van"],"to":[],"#
                    + #""severity":"warning","late":"mark"}"# + "\n")
            let table = try await RunningProgram.run(Programs.built("lockstep"), ["rules", "list", file])
            #expect(table.text.contains("lab     walker-* or van"), "\(table.text)")
        }
    }

    @Test("a rules file without rules, or that cannot be read, does not pass the check")
    func uncheckedRules() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/rules.yaml"
            func check(_ path: String) async throws -> (status: Int32, text: String) {
                try await RunningProgram.run(Programs.built("lockstep"), ["rules", "check", path])
            }
            for text in ["", "# rules:\n", "targets: {bus: {mqtt: event}}\n"] {
                try text.write(toFile: file, atomically: true, encoding: .utf8)
                let run = try await check(file)
                #expect(run.status != 0 && run.text.hasPrefix("Error: \(file) has no rules: "), "\(run.text)")
            }
            try "rules: {a: {when: {shake: any}}}\n".write(toFile: file, atomically: true, encoding: .utf8)
            let good = try await check(file)
            #expect(good.status == 0 && good.text == "\(file): 1 rule, no errors\n", "\(good.text)")
            let missing = try await check(folder + "/none.yaml")
            #expect(
                missing.text
                    == "Error: cannot read the rules \(folder)/none.yaml: there is no such file: check the path\n")
            let isFolder = try await check(folder)
            #expect(isFolder.text == "Error: cannot read the rules \(folder): it is a folder: name a file\n")
        }
    }

    @Test("pending notifications can be listed as JSON")
    func deliveries() async throws {
        try await withStore { store in
            let run = try await lockstep(["deliveries", "--json"], store)
            #expect(run.status == 0 && run.text.isEmpty, "\(run.text)")
        }
    }
}
