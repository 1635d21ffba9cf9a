import Logging
import Synchronization
import Testing

@testable import LockstepCommandLine

@Suite("LogText")
struct LogTextTests {
    @Test("an event without metadata is written unchanged")
    func eventOnly() {
        #expect(LogText.line("collector started", [:]) == "collector started")
    }

    @Test("metadata is sorted by key, with error and hint at the end")
    func order() {
        let metadata: Logger.Metadata = ["hint": "h", "error": "e", "zone": "z", "broker": "b", "fault": "f"]
        #expect(
            LogText.line("connection failed", metadata) == "connection failed  broker=b fault=f zone=z error=e hint=h")
    }

    @Test(
        "ambiguous values are quoted",
        arguments: [
            ("plain", "plain"), ("a/b:c,d", "a/b:c,d"), ("two words", #""two words""#), ("", #""""#),
            ("a=b", #""a=b""#),
            (#"say "hi""#, #""say \"hi\"""#), ("one\ntwo", #""one\ntwo""#), (#"C:\x"#, #"C:\x"#),
            (#"C:\x y"#, #""C:\\x y""#), ("µT", "µT"), ("a\u{7}\tb", #""a\u0007\tb""#),
        ])
    func quoting(_ value: String, _ text: String) {
        #expect(LogText.line("e", ["k": .string(value)]) == "e  k=\(text)")
    }

    @Test("a control character never reaches the terminal")
    func controlCharacters() {
        #expect(LogText.line("a\u{1B}[31m", ["k": "b\u{1B}[0m"]) == "a\u{FFFD}[31m  k=b\u{FFFD}[0m")
    }

    @Test("dictionaries are flattened, and arrays are joined by commas")
    func nested() {
        let metadata: Logger.Metadata = ["rates": ["y": "2", "x": ["a": "1"]], "ids": ["1", "2"]]
        #expect(LogText.line("e", metadata) == "e  ids=1,2 rates.x.a=1 rates.y=2")
    }
}

@Suite("ConsoleLogHandler")
struct ConsoleLogTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    /// Returns the lines that `body` logs.
    private func lines(isJSON: Bool = false, hasColours: Bool = false, _ body: (Logger) -> Void) -> [String] {
        let lines = Lines()
        let logger = Logger(label: "lockstep-test") { label in
            ConsoleLogHandler(
                label: label, isJSON: isJSON, terminal: Terminal(isInteractive: hasColours, hasColours: hasColours),
                now: { "2026-11-21T09:30:00.250Z" }
            ) { line in lines.all.withLock { $0.append(line) } }
        }
        body(logger)
        return lines.all.withLock { $0 }
    }

    @Test("a line has time, level, event and metadata, without colours in a pipe")
    func text() {
        let written = lines { logger in
            logger.info("connected to broker", metadata: ["broker": "mqtt://localhost:1883"])
            logger.warning("samples dropped", metadata: ["stream": "steps", "reason": "outbox size"])
        }
        #expect(
            written == [
                "2026-11-21T09:30:00.250Z  info     connected to broker  broker=mqtt://localhost:1883",
                #"2026-11-21T09:30:00.250Z  warning  samples dropped  reason="outbox size" stream=steps"#,
            ])
    }

    @Test("the level is coloured on a terminal")
    func colours() {
        let written = lines(hasColours: true) { $0.error("store failed") }
        #expect(written == ["\u{1B}[2m2026-11-21T09:30:00.250Z\u{1B}[0m  \u{1B}[31merror\u{1B}[0m    store failed"])
    }

    @Test("JSON has one object per line, with all values as strings")
    func json() {
        let written = lines(isJSON: true) { $0.notice("say \"hi\"", metadata: ["samples": "7", "error": "a\nb"]) }
        #expect(
            written == [
                #"{"time":"2026-11-21T09:30:00.250Z","level":"notice","logger":"lockstep-test","event":"say \"hi\"","#
                    + #""samples":"7","error":"a\nb"}"#
            ])
    }
}
