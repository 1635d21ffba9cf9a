import Glibc
import LockstepCommandLine
import Logging
import Synchronization
import Testing

@Suite("A log for the journal")
struct JournalLogTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private func lines(_ body: (inout Logger) -> Void) -> [String] {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in
            JournalLogHandler { line in lines.all.withLock { $0.append(line) } }
        }
        body(&logger)
        return lines.all.withLock { $0 }
    }

    @Test("has the priority in front, and no time")
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

    @Test("has metadata in order of their names, those of the event before those of the logger")
    func metadata() {
        let written = lines { logger in
            logger[metadataKey: "device"] = "left"
            logger[metadataKey: "epoch"] = "1"
            logger.info("begins", metadata: ["epoch": "2", "at": "home"])
            logger.debug("says too much")
        }
        #expect(written == ["<6>begins at=home device=left epoch=2"])
    }

    @Test("has one line an event")
    func oneLine() {
        let written = lines { $0.error("one\ntwo") }
        #expect(written == ["<3>one\u{FFFD}two"])
    }

    @Test("is written where systemd says that this very stream is the journal")
    func stream() {
        var status = stat()
        #expect(fstat(STDERR_FILENO, &status) == 0)
        #expect(JournalLogHandler.isJournal("\(status.st_dev):\(status.st_ino)"))
        #expect(!JournalLogHandler.isJournal("\(status.st_dev):\(status.st_ino + 1)"))
        #expect(!JournalLogHandler.isJournal(""))
        #expect(!JournalLogHandler.isJournal(nil))
    }
}
