import LockstepHTTP
import Logging
import Synchronization
import Testing

@Suite("Refused logins")
struct RefusedLoginsTests {
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)
        var now: ContinuousClock.Instant { time.withLock { $0 } }
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    private final class Lines: LogHandler, Sendable {
        private let texts = Mutex<[String]>([])
        var all: [String] { texts.withLock { $0 } }
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .info }
            set {}
        }
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) { texts.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") } }
    }

    private let attacker = Client(limitKey: "192.0.2.1", address: "192.0.2.1")
    private let problem = Problem.unauthorized("a token is needed")

    @Test("an address with many wrong logins gets 429 until the minute is over, and no other address does")
    func slow() async throws {
        let (clock, lines) = (Clock(), Lines())
        let logins = RefusedLogins(logger: Logger(label: "") { _ in lines }, delay: .zero, now: { clock.now })
        func attempt(_ client: Client, hasLogin: Bool = true) async throws -> Int {
            try await logins.answer(problem, hasLogin: hasLogin, path: "/p", client: client).status
        }
        for _ in 0..<20 { #expect(try await attempt(attacker) == 401) }
        #expect(try await attempt(attacker) == 429)
        // A request without a login is not an attempt.
        #expect(try await attempt(attacker, hasLogin: false) == 401)
        #expect(try await attempt(Client(limitKey: "192.0.2.2", address: "192.0.2.2")) == 401)
        #expect(logins.total == 23)
        #expect(lines.all.count == 10 && lines.all[0].contains("192.0.2.1"), "\(lines.all)")
        clock.advance(.seconds(61))
        #expect(try await attempt(attacker) == 401)
        #expect(lines.all.count == 11 && lines.all[10].contains("\"unlogged\": 13"), "\(lines.all)")
    }

    @Test("an address that many share is slowed down as well, because valid logins are not")
    func shared() {
        let logins = RefusedLogins(logger: Logger(label: "") { _ in SwiftLogNoOpLogHandler() })
        let proxy = Client(limitKey: nil, address: "127.0.0.1")
        for _ in 0..<20 { logins.record(user: nil, hasLogin: true, path: "/", client: proxy) }
        #expect(logins.record(user: nil, hasLogin: true, path: "/", client: proxy))
    }
}
