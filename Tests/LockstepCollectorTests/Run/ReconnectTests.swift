import LockstepModel
import Testing

@testable import LockstepCollector

@Suite("Attempts of a collector to connect")
struct ReconnectTests {
    @Test("follow each other within 5 s however long the broker is away")
    func delays() {
        var random = SystemRandomNumberGenerator()
        var backoff = CollectorLoop.backoff
        let delays = (0..<50).map { _ in backoff.next(using: &random) }
        #expect(delays.allSatisfy { $0 <= .seconds(5) })
    }
}
