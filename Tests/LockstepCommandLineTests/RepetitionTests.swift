import Logging
import Synchronization
import Testing

@testable import LockstepCommandLine

@Suite("A repeated message")
struct RepetitionTests {
    private let start = ContinuousClock.now

    @Test("is said five times in a minute, and then counted")
    func burst() {
        var repetition = Repetition<String>()
        let said = (0..<120).map { repetition.says("lost", at: start + .milliseconds($0)) }
        #expect(said.count { $0 } == 5 && said.prefix(5).allSatisfy { $0 })
        let early = repetition.takeSummaries(at: start + .seconds(59))
        #expect(early.isEmpty)
        let due = repetition.takeSummaries(at: start + .seconds(60))
        #expect(due == [.init(key: "lost", count: 115)])
        let again = repetition.takeSummaries(at: start + .seconds(60))
        #expect(again.isEmpty)
        let next = repetition.says("lost", at: start + .seconds(61))
        #expect(next)
    }

    @Test("that comes now and then is said each time")
    func slow() {
        var repetition = Repetition<String>()
        for minute in 0..<20 {
            let time = start + .seconds(60 * minute)
            let summaries = repetition.takeSummaries(at: time)
            let isSaid = repetition.says("lost", at: time)
            #expect(summaries.isEmpty && isSaid)
        }
    }

    @Test("holds up no other, however many others there are")
    func others() {
        var repetition = Repetition<Int>()
        let said = (0..<2000).map { repetition.says($0, at: start) }
        #expect(said.allSatisfy { $0 })
        let beyond = (0..<10).map { _ in repetition.says(5000, at: start) }
        #expect(beyond.allSatisfy { $0 })
    }

    @Test("and others are summed up in the order in which they began, each once its minute is over")
    func order() {
        var repetition = Repetition<String>()
        for _ in 0..<7 { _ = repetition.says("first", at: start) }
        for _ in 0..<8 { _ = repetition.says("second", at: start + .seconds(10)) }
        for _ in 0..<9 { _ = repetition.says("third", at: start + .seconds(50)) }
        let due = repetition.takeSummaries(at: start + .seconds(75))
        #expect(due == [.init(key: "first", count: 2), .init(key: "second", count: 3)])
        let rest = repetition.takeSummaries(at: start + .seconds(110))
        #expect(rest == [.init(key: "third", count: 4)])
    }
}

@Suite("A log with repeated messages")
struct RepetitionLogTests {
    private final class Recorder: Sendable {
        let lines = Mutex<[String]>([])
        let time: Mutex<ContinuousClock.Instant> = Mutex(.now)
    }

    private let recorder = Recorder()

    private var logger: Logger {
        Logger(label: "test") { [recorder] _ in
            RepetitionLogHandler(JournalLogHandler { line in recorder.lines.withLock { $0.append(line) } }) {
                recorder.time.withLock { $0 }
            }
        }
    }

    @Test("tells how many more there were, at their level, before what comes next")
    func summary() {
        let logger = logger
        for _ in 0..<123 { logger.warning("connection lost", metadata: ["try": "1"]) }
        logger.info("connection lost")
        recorder.time.withLock { $0 += .seconds(61) }
        logger.info("connected")
        let lines = recorder.lines.withLock { $0 }
        #expect(
            lines == Array(repeating: "<4>connection lost try=1", count: 5) + [
                "<6>connection lost", "<4>connection lost … 118 more in 60 s", "<6>connected",
            ])
    }

    @Test("keeps messages apart that only look alike: each place in the program speaks for itself")
    func places() {
        let logger = logger
        for _ in 0..<5 { logger.info("again") }
        for _ in 0..<5 { logger.info("again") }
        let count = recorder.lines.withLock { $0.count }
        #expect(count == 10)
    }

    @Test("counts on in a copy of the logger with other metadata")
    func copies() {
        let logger = logger
        for number in 0..<10 {
            var copy = logger
            copy[metadataKey: "number"] = "\(number)"
            copy.info("again")
        }
        let count = recorder.lines.withLock { $0.count }
        #expect(count == 5)
    }
}
