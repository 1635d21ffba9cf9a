import LockstepCommandLine
import LockstepModel
import Testing

@Suite("Ages and times as text")
struct AgeTests {
    private let now = Timestamp(microseconds: 1_700_000_000_123_456)

    @Test(
        "an age is written in its largest useful unit",
        arguments: [
            (0, "0s"), (-5, "0s"), (99, "99s"), (100, "1m"), (5999, "99m"), (6000, "1h"), (172_799, "47h"),
            (172_800, "2d"), (31_536_000, "365d"),
        ] as [(Int64, String)])
    func age(_ seconds: Int64, _ text: String) {
        #expect((now - seconds * 1_000_000).age(at: now) == text)
    }

    @Test("extreme times do not overflow")
    func extremes() {
        let first = Timestamp(microseconds: .min)
        let last = Timestamp(microseconds: .max)
        #expect(first.age(at: last) == "106751991d")
        #expect(last.age(at: first) == "0s")
    }

    @Test("a time is written in ISO 8601, to the second or to the millisecond")
    func iso8601() {
        #expect(now.iso8601Seconds == "2023-11-14T22:13:20Z")
        #expect(now.iso8601Milliseconds == "2023-11-14T22:13:20.123Z")
    }

    @Test("a time in a zone has the offset of the zone, and keeps only the wanted decimals")
    func zone() {
        #expect(now.iso8601(decimals: 0, offset: 19_800_000_000) == "2023-11-15T03:43:20+05:30")
        #expect(now.iso8601(decimals: 6, offset: -12_600_000_000) == "2023-11-14T18:43:20.123456-03:30")
        #expect(now.iso8601(decimals: 3, offset: 0) == "2023-11-14T22:13:20.123+00:00")
        #expect(Timestamp(microseconds: .max).iso8601(decimals: 0, offset: 1).hasSuffix("Z"))
    }

    @Test(
        "a time in µs or ISO 8601, 'now', and a duration before now are parsed",
        arguments: [
            ("now", 1_700_000_000_123_456), ("-5m", 1_699_999_700_123_456), ("-250ms", 1_699_999_999_873_456),
            ("1700000000000000", 1_700_000_000_000_000), ("2023-11-14T22:13:20Z", 1_700_000_000_000_000),
            ("2023-11-14", 1_699_920_000_000_000),
        ] as [(String, Int64)])
    func reading(_ text: String, _ microseconds: Int64) throws {
        #expect(try time(text, now: now).microseconds == microseconds)
    }

    @Test("an invalid time is refused with examples of valid ones", arguments: ["", "yesterday", "-", "-5x", "+5m"])
    func rejected(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try time(text, now: now) }
        #expect(
            error?.description
                == "'\(text)' is not a time: use 2026-11-21T09:30:00Z or with another zone such as +01:00, µs since 1970, now, or a duration before now such as -5m"
        )
    }
}
