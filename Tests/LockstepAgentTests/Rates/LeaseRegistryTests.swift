import LockstepAgent
import LockstepModel
import Testing

@Suite("Leases")
struct LeaseTests {
    private var book = LeaseRegistry()

    private mutating func lease(_ stream: SensorStream, _ rate: Double, for seconds: Double, by client: String) -> Bool
    {
        book.take(RateLease(stream: stream, rate: rate, duration: seconds), of: client, at: 1_000_000)
    }

    @Test("hold until they end, and the fastest counts")
    mutating func fastest() {
        let taken = [
            lease(.gyroscope, 50, for: 10, by: "a"), lease(.gyroscope, 200, for: 5, by: "b"),
            lease(.accelerometer, 20, for: 10, by: "a"),
        ]
        #expect(taken == [true, true, true])
        #expect(book.rates == [.gyroscope: 200, .accelerometer: 20])
        #expect(book.nextExpiry == 6_000_000)
        let ended = [book.expire(at: 5_999_999), book.expire(at: 6_000_000)]
        #expect(ended == [false, true])
        #expect(book.rates == [.gyroscope: 50, .accelerometer: 20])
        _ = book.expire(at: 11_000_000)
        #expect(book.rates.isEmpty && book.nextExpiry == nil)
    }

    @Test("of one client take each other's place, and 0 ends them")
    mutating func replacing() {
        _ = lease(.gyroscope, 200, for: 10, by: "a")
        _ = lease(.gyroscope, 50, for: 20, by: "a")
        #expect(book.rates == [.gyroscope: 50])
        #expect(book.nextExpiry == 21_000_000)
        _ = lease(.gyroscope, 0, for: 1, by: "b")
        #expect(book.rates == [.gyroscope: 50])
        _ = lease(.gyroscope, 0, for: 1, by: "a")
        #expect(book.rates.isEmpty)
    }

    @Test("are bounded in number")
    mutating func bounded() {
        for number in 0..<LeaseRegistry.most { _ = lease(.steps, 1, for: 10, by: "\(number)") }
        let oneMore = lease(.steps, 1, for: 10, by: "one more")
        let again = lease(.steps, 5, for: 10, by: "7")
        #expect(!oneMore)
        #expect(again)
        #expect(book.rates == [.steps: 5])
    }
}
