import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep-gateway")
struct GatewayCommandTests {
    private static let rule = "json:\n  - topic: a/+\n    device: '{1}'\n    stream: pressure\n"

    /// The settings file and a part of the expected error.
    private static let wrong: [(settings: String, error: String)] = [
        ("broker: mqtt://localhost\n", "no outbox specified: use --outbox PATH"),
        ("outbox: g.db\naccept: all\n", "'all' is not a choice of senders: use known or any"),
        ("outbox: g.db\nmap: [a]\n", ":2: 'map' needs lines of the form 'SENDER: GROUP/DEVICE'"),
        ("outbox: g.db\nmap:\n  owntracks/a/b: alice\n", ":3: map: 'alice' is not an address: use GROUP/DEVICE"),
        ("outbox: g.db\nmap:\n  owntracks/a/b: a b/c\n", ":3: map: 'a b' is not a group"),
        ("outbox: g.db\nowntracks-topic: a/#\n", "'a/#' is not a topic: use levels without + and #"),
        ("outbox: g.db\nsensor-logger-axes: windows\n", "'windows' is not one of android, ios"),
        ("outbox: g.db\nsensor-logger-devices:\n  bob: windows\n", ":3: 'windows' is not one of android, ios"),
        ("outbox: g.db\nsenml:\n  t: x/room.temperature\n", ":3: 'x/room.temperature' is not a column"),
        ("outbox: g.db\njson: {}\n", ":2: 'json' needs a list of rules"),
        ("outbox: g.db\njson:\n  - topic: a\n", ":3: json: the rule has no 'columns'"),
        ("outbox: g.db\njson:\n  - topic: a+\n", ":3: json: 'a+' is not a topic filter"),
        ("outbox: g.db\njson:\n  - tpic: a\n", ":3: unknown key 'tpic' of a rule of 'json'; known keys: topic, device"),
        (
            "outbox: g.db\n" + rule + "    columns: { temperature: /t }\n",
            ":6: json: pressure has no column 'temperature'"
        ),
        ("outbox: g.db\n" + rule + "    columns: { pressure: t }\n", ":6: json: a path is a JSON Pointer"),
        (
            "outbox: g.db\n" + rule + "    columns: { pressure: { path: /t, factor: x } }\n",
            ":6: 'factor' of a column of 'json': 'x' is not a number"
        ),
        (
            "outbox: g.db\nsparkplug-host: a/b\n",
            "'a/b' is not the id of a host application: use a text without /, + and #"
        ),
        ("outbox: g.db\nsparkplug-out: plant\n", "'plant' is not an edge node: use GROUP/NODE"),
        ("outbox: g.db\nsparkplug: [T]\n", ":2: 'sparkplug' needs lines of the form 'METRIC: STREAM.COLUMN'"),
        ("outbox: g.db\nsparkplug:\n  T: x/room.t\n", ":3: sparkplug: 'x/room.t' is not a column"),
        ("outbox: g.db\nsparkplug:\n  T: { factor: 2 }\n", ":3: sparkplug: the metric has no 'column'"),
        (
            "outbox: g.db\nsparkplug:\n  T: { column: pressure.pressure, factor: x }\n",
            ":3: sparkplug: 'x' is not a number"
        ),
        ("outbox: g.db\nphyphox: 10.0.0.2:8080\n", "'10.0.0.2:8080' is not the URL of a phone: use http://HOST:PORT"),
        ("outbox: g.db\nphyphox: http://10.0.0.2\n", "use http://10.0.0.2=GROUP/DEVICE, or --accept any"),
    ]

    @Test("wrong settings are refused with the place and what to do", arguments: 0..<wrong.count)
    func wrongSettings(_ index: Int) async throws {
        try await withTemporaryFolder { folder in
            let (settings, error) = Self.wrong[index]
            let file = folder + "/gateway.yaml"
            try settings.write(toFile: file, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(Programs.built("lockstep-gateway"), ["--config", file])
            #expect(run.status != 0)
            #expect(run.text.contains(error), "\(run.text)")
        }
    }

    @Test("a key file that others can read is refused, and an invalid line is reported without its secret")
    func keys() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/keys"
            try "alice/phone\n".write(toFile: file, atomically: true, encoding: .utf8)
            func run() async throws -> String {
                try await RunningProgram.run(
                    Programs.built("lockstep-gateway"), ["--outbox", folder + "/g.db", "--owntracks-keys", file]
                ).text
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
            #expect(try await run().contains("other users can access it"))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
            let text = try await run()
            #expect(text.contains("line 1: use 'USER/DEVICE SECRET'"), "\(text)")
        }
    }
}
