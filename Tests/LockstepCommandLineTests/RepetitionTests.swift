import Logging
import Synchronization
import Testing

@testable import LockstepCommandLine

@Suite("RepetitionLimiter")
struct RepetitionLimiterTests {
    private let start = ContinuousClock.now

    @Test("five events within a minute pass, the others are counted")
    func burst() {
        var limiter = RepetitionLimiter<String>()
        let passed = (0..<120).map { limiter.shouldPass("lost", at: start + .milliseconds($0)) }
        #expect(passed.count { $0 } == 5 && passed.prefix(5).allSatisfy { $0 })
        let early = limiter.takeSummaries(at: start + .seconds(59))
        #expect(early.isEmpty)
        let summaries = limiter.takeSummaries(at: start + .seconds(60))
        #expect(summaries == [.init(key: "lost", count: 115)])
        let again = limiter.takeSummaries(at: start + .seconds(60))
        #expect(again.isEmpty)
        let next = limiter.shouldPass("lost", at: start + .seconds(61))
        #expect(next)
    }

    @Test("infrequent events pass without summaries")
    func slow() {
        var limiter = RepetitionLimiter<String>()
        for minute in 0..<20 {
            let time = start + .seconds(60 * minute)
            let summaries = limiter.takeSummaries(at: time)
            let isPassed = limiter.shouldPass("lost", at: time)
            #expect(summaries.isEmpty && isPassed)
        }
    }

    @Test("events of different kinds do not limit each other, and kinds beyond the maximum are not limited")
    func others() {
        var limiter = RepetitionLimiter<Int>()
        let passed = (0..<2000).map { limiter.shouldPass($0, at: start) }
        #expect(passed.allSatisfy { $0 })
        let beyond = (0..<10).map { _ in limiter.shouldPass(5000, at: start) }
        #expect(beyond.allSatisfy { $0 })
    }

    @Test("each kind is summarised once its minute is over, in the order of the first events")
    func order() {
        var limiter = RepetitionLimiter<String>()
        for _ in 0..<7 { _ = limiter.shouldPass("first", at: start) }
        for _ in 0..<8 { _ = limiter.shouldPass("second", at: start + .seconds(10)) }
        for _ in 0..<9 { _ = limiter.shouldPass("third", at: start + .seconds(50)) }
        let summaries = limiter.takeSummaries(at: start + .seconds(75))
        #expect(summaries == [.init(key: "first", count: 2), .init(key: "second", count: 3)])
        let rest = limiter.takeSummaries(at: start + .seconds(110))
        #expect(rest == [.init(key: "third", count: 4)])
    }
}

@Suite("RepetitionLogHandler")
struct RepetitionLogTests {
    private final class Recorder: Sendable {
        let lines = Mutex<[String]>([])
        let time: Mutex<ContinuousClock.Instant> = Mutex(.now)
    }

    private let recorder = Recorder()

    private var lines: [String] { recorder.lines.withLock { $0 } }

    private var logger: Logger {
        Logger(label: "test") { [recorder] _ in
            RepetitionLogHandler(JournalLogHandler { line in recorder.lines.withLock { $0.append(line) } }) {
                recorder.time.withLock { $0 }
            }
        }
    }

    @Test("the summary has the level and the metadata of the event, and precedes the next event")
    func summary() {
        let logger = logger
        for _ in 0..<123 { logger.warning("connection lost", metadata: ["attempt": "1"]) }
        logger.info("connection lost")
        recorder.time.withLock { $0 += .seconds(61) }
        logger.info("connected")
        #expect(
            lines == Array(repeating: "<4>connection lost  attempt=1", count: 5) + [
                "<6>connection lost", "<4>connection lost  attempt=1 repeated=118 within=60s", "<6>connected",
            ])
    }

    @Test("equal events from different source lines are counted separately")
    func places() {
        let logger = logger
        for _ in 0..<5 { logger.info("again") }
        for _ in 0..<5 { logger.info("again") }
        #expect(lines.count == 10)
    }

    @Test("events with different metadata are counted separately, and copies of a logger together")
    func metadata() {
        let logger = logger
        for number in 0..<20 {
            var copy = logger
            copy[metadataKey: "device"] = "\(number % 2)"
            copy.info("samples dropped", metadata: ["stream": "steps"])
        }
        #expect(lines.count == 10)
        #expect(
            Set(lines) == ["<6>samples dropped  device=0 stream=steps", "<6>samples dropped  device=1 stream=steps"])
    }
}
