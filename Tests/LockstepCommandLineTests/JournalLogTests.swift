import Glibc
import LockstepCommandLine
import Logging
import Synchronization
import Testing

@Suite("JournalLogHandler")
struct JournalLogTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    /// Returns the lines that `body` logs.
    private func lines(_ body: (inout Logger) -> Void) -> [String] {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in
            JournalLogHandler { line in lines.all.withLock { $0.append(line) } }
        }
        body(&logger)
        return lines.all.withLock { $0 }
    }

    @Test("a line starts with the priority and has no time")
    func priorities() {
        let written = lines { logger in
            logger.logLevel = .trace
            for level in Logger.Level.allCases { logger.log(level: level, "\(level.rawValue)") }
        }
        #expect(
            written == [
                "<7>trace", "<7>debug", "<6>info", "<5>notice", "<4>warning", "<3>error", "<2>critical",
            ])
    }

    @Test("metadata follows the event, and the metadata of the event overrides that of the logger")
    func metadata() {
        let written = lines { logger in
            logger[metadataKey: "device"] = "left"
            logger[metadataKey: "epoch"] = "1"
            logger.info("agent started", metadata: ["epoch": "2", "at": "home"])
            logger.debug("below the log level")
        }
        #expect(written == ["<6>agent started  at=home device=left epoch=2"])
    }

    @Test("an event is always one line")
    func oneLine() {
        let written = lines { $0.error("one\ntwo") }
        #expect(written == ["<3>one\u{FFFD}two"])
    }

    @Test("the journal is detected by device and inode of standard error")
    func stream() {
        var status = stat()
        #expect(fstat(STDERR_FILENO, &status) == 0)
        #expect(JournalLogHandler.isJournal("\(status.st_dev):\(status.st_ino)"))
        #expect(!JournalLogHandler.isJournal("\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!JournalLogHandler.isJournal(""))
        #expect(!JournalLogHandler.isJournal(nil))
    }
}
