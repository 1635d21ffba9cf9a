import LockstepCommandLine
import LockstepModel
import LockstepTestSupport
import Testing

@Suite("Settings of streams", .temporaryFolder)
struct StreamSettingsTests {
    private func settings(_ text: String) throws -> Settings {
        try Settings(of: [BrokerSettings.self, StreamSection.self], file: try write(text), environment: [:])
    }

    @Test("streams are declared with all their properties")
    func all() throws {
        let settings = try settings(
            """
            broker: mqtt://localhost
            streams:
              x/co2:
                columns:
                  ppm: {kind: real, unit: ppm, aggregate: mean}
              x/door/front:
                summary: The front door
                pauses-in-background: true
                columns:
                  state: {kind: choice, words: [open, closed], summary: State of the door}
                  opened: {kind: integer, aggregate: sum, required: false}
            """)
        #expect(settings.streams.declared.map(\.name) == ["x/co2", "x/door/front"])
        let co2 = try #require(settings.streams.stream(named: "x_co2"))
        #expect(
            try co2.columns == [SensorStream.Column(declaring: "ppm", kind: .real, unit: "ppm", aggregate: .mean)])
        let door = try #require(settings.streams.stream(named: "x/door/front"))
        #expect(door.summary == "The front door" && door.pausesInBackground)
        #expect(
            try door.columns == [
                SensorStream.Column(
                    declaring: "state", kind: .choice(["open", "closed"]), summary: "State of the door"),
                SensorStream.Column(declaring: "opened", kind: .integer, isRequired: false, aggregate: .sum),
            ])
        #expect(settings.place(ofStream: "x/door/front")?.hasSuffix("/lockstep.yaml:6") == true)
    }

    @Test("without declarations, there are only the built-in streams", arguments: ["streams:\n", "broker: x\n"])
    func none(_ text: String) throws { #expect(try settings(text).streams == .builtIn) }

    @Test("a program without declared streams ignores or refuses the section like any other setting")
    func otherProgram() throws {
        let file = try write("streams:\n  x/a: {columns: {b: {}}}\n")
        let ignoring = try Settings(of: [BrokerSettings.self], file: file, ignoresUnknownKeys: true, environment: [:])
        #expect(ignoring.streams == .builtIn)
        let rejected = failure { _ = try Settings(of: [BrokerSettings.self], file: file, environment: [:]) }
        #expect(rejected?.contains(":1: unknown key 'streams'") == true)
    }

    @Test(
        "an invalid declaration is refused with file, line, reason and suggestion",
        arguments: [
            ("[]", 2, "'streams' is not a mapping"),
            ("x", 2, "'streams' is not a mapping"),
            ("\n  co2: {columns: {a: {}}}", 3, "stream 'co2': 'co2' is not a valid stream name: use x/"),
            ("\n  x/a: {}", 3, "stream 'x/a': the stream has no columns"),
            ("\n  x/a:\n    columns: [a]", 4, "'columns' of stream 'x/a' is not a mapping"),
            ("\n  x/a:\n    columns:\n      t: {}", 5, "column 't' of stream 'x/a': the column name 't' is reserved"),
            (
                "\n  x/a:\n    columns:\n      b: {kind: float}", 5,
                "column 'b' of stream 'x/a': unknown kind 'float': use real, integer, or choice"
            ),
            (
                "\n  x/a:\n    columns:\n      b: {aggregate: max}", 5,
                "column 'b' of stream 'x/a': unknown aggregate 'max': use mean"
            ),
            (
                "\n  x/a:\n    columns:\n      b: {units: m}", 5,
                "unknown key 'units' of column 'b' of stream 'x/a'; known keys: kind, unit, aggregate"
            ),
            (
                "\n  x/a:\n    columns:\n      b: {required: perhaps}", 5,
                "'required' of column 'b' of stream 'x/a': 'perhaps' is not a Boolean"
            ),
            (
                "\n  x/a:\n    columns:\n      b:\n        kind: choice\n        words: {}", 7,
                "'words' of column 'b' of stream 'x/a': expects a text or a list of texts"
            ),
            (
                "\n  x/a:\n    columns:\n      b: {}\n      b: {}", 6,
                "'b' of 'columns' of stream 'x/a' is written twice; the first is on line 5"
            ),
            ("\n  x/a: {columns: {b: {}}}\n  x/a: {columns: {b: {}}}", 4, "'x/a' of 'streams' is written twice"),
            (
                "\n  x/a/b: {columns: {c: {}}}\n  x/a_b: {columns: {c: {}}}", 4,
                "stream 'x/a_b': the streams 'x/a/b' and 'x/a_b' have the same table x_a_b"
            ),
        ])
    func invalid(_ section: String, _ line: Int, _ reason: String) throws {
        let file = try write("broker: x\nstreams: \(section)\n")
        let text = failure {
            _ = try Settings(of: [BrokerSettings.self, StreamSection.self], file: file, environment: [:])
        }
        #expect(text?.hasPrefix("\(file):\(line): \(reason)") == true, "\(text ?? "accepted")")
    }
}
