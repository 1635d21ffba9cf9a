import LockstepCommandLine
import Testing

@Suite("Parsing durations")
struct DurationTests {
    @Test(
        "a number with a unit, or a number of seconds, is parsed",
        arguments: [
            ("250ms", 250_000), ("30s", 30_000_000), ("30", 30_000_000), ("5m", 300_000_000), ("2h", 7_200_000_000),
            ("7d", 604_800_000_000), ("1.5s", 1_500_000), ("0.5", 500_000), (".5m", 30_000_000), ("0s", 0),
            ("1000d", 86_400_000_000_000),
        ] as [(String, Int64)])
    func valid(_ text: String, _ microseconds: Int64) throws {
        #expect(try parseDuration(text) == microseconds)
    }

    @Test(
        "an invalid duration is refused with examples of valid ones",
        arguments: [
            "", "s", "ms", "-5s", "+5s", "5 s", "5S", "5min", "1e3", "1..5s", "1.2.3", ".", "٣s", "½s", "5s ", "nan",
            "inf",
            "99999999999999999999d", "0x10s",
        ])
    func rejected(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try parseDuration(text) }
        #expect(error?.description == "'\(text)' is not a duration: use 250ms, 30s, 5m, 2h or 7d")
    }
}

@Suite("Parsing sizes in bytes")
struct ByteCountTests {
    @Test(
        "a number, optionally with K, M or G, is parsed",
        arguments: [
            ("0", 0), ("65536", 65_536), ("64K", 65_536), ("64k", 65_536), ("256M", 268_435_456), ("1G", 1_073_741_824),
            ("500g", 536_870_912_000),
        ])
    func valid(_ text: String, _ bytes: Int) throws {
        #expect(try byteCount(text) == bytes)
    }

    @Test("a size above 4 GiB is parsed")
    func large() {
        let bytes = try? byteCount("5368709120")
        #expect(bytes == 5_368_709_120)
    }

    @Test(
        "an invalid size is refused with examples of valid ones",
        arguments: [
            "", "K", "-1", "+1", "1.5M", "64KB", "64 K", "6T", "٣", "99999999999999999999", "99999999999G", "1e6",
        ])
    func rejected(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try byteCount(text) }
        #expect(error?.description == "'\(text)' is not a size in bytes: use 65536, 64K, 256M or 1G")
    }
}

@Suite("Parsing whole numbers")
struct WholeNumberTests {
    @Test("a number within the bounds, inclusive, is parsed", arguments: [("1", 1), ("65535", 65_535), ("007", 7)])
    func valid(_ text: String, _ number: Int) throws {
        #expect(try wholeNumber(text, in: 1...65_535) == number)
    }

    @Test("any other text is refused with the bounds", arguments: ["", "0", "65536", "-1", "1.0", "x", " 1", "1e2"])
    func rejected(_ text: String) {
        let error = #expect(throws: CommandFailure.self) { try wholeNumber(text, in: 1...65_535) }
        #expect(error?.description == "'\(text)' is not a whole number from 1 to 65535")
    }
}
