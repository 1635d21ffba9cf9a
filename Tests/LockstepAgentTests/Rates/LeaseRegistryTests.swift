import LockstepAgent
import LockstepModel
import Testing

@Suite("Leases of sampling rates")
struct LeaseRegistryTests {
    private var registry = LeaseRegistry()

    private mutating func lease(_ stream: SensorStream, _ rate: Double, for seconds: Double, by client: String) -> Bool
    {
        registry.add(RateLease(stream: stream, rate: rate, duration: seconds), of: client, at: 1_000_000)
    }

    @Test("the rate of a stream is that of its fastest lease until the lease expires")
    mutating func fastest() {
        let taken = [
            lease(.gyroscope, 50, for: 10, by: "a"), lease(.gyroscope, 200, for: 5, by: "b"),
            lease(.accelerometer, 20, for: 10, by: "a"),
        ]
        #expect(taken == [true, true, true])
        #expect(registry.rates == [.gyroscope: 200, .accelerometer: 20])
        #expect(registry.nextExpiry == 6_000_000)
        let ended = [registry.expire(at: 5_999_999), registry.expire(at: 6_000_000)]
        #expect(ended == [false, true])
        #expect(registry.rates == [.gyroscope: 50, .accelerometer: 20])
        _ = registry.expire(at: 11_000_000)
        #expect(registry.rates.isEmpty && registry.nextExpiry == nil)
    }

    @Test("a lease replaces the client's lease of the same stream, and a rate of 0 ends it")
    mutating func replacing() {
        _ = lease(.gyroscope, 200, for: 10, by: "a")
        _ = lease(.gyroscope, 50, for: 20, by: "a")
        #expect(registry.rates == [.gyroscope: 50])
        #expect(registry.nextExpiry == 21_000_000)
        _ = lease(.gyroscope, 0, for: 1, by: "b")
        #expect(registry.rates == [.gyroscope: 50])
        _ = lease(.gyroscope, 0, for: 1, by: "a")
        #expect(registry.rates.isEmpty)
    }

    @Test("the number of leases is limited")
    mutating func bounded() {
        for number in 0..<LeaseRegistry.maxLeases { _ = lease(.steps, 1, for: 10, by: "\(number)") }
        let oneMore = lease(.steps, 1, for: 10, by: "one more")
        let again = lease(.steps, 5, for: 10, by: "7")
        #expect(!oneMore)
        #expect(again)
        #expect(registry.rates == [.steps: 5])
    }
}
