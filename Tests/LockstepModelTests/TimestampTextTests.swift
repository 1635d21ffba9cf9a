import FoundationEssentials
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Timestamp text")
struct TimestampTextTests {
    @Test(
        "the description is ISO 8601 in UTC with microseconds and can be parsed again",
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1, "1970-01-01T00:00:00.000001Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (-86_400_000_000, "1969-12-31T00:00:00.000000Z"),
            (1_700_000_000_000_000, "2023-11-14T22:13:20.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (951_868_800_000_000, "2000-03-01T00:00:00.000000Z"),
            (1_709_210_096_789_012, "2024-02-29T12:34:56.789012Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
            (-2_203_891_200_000_000, "1900-03-01T00:00:00.000000Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
        ] as [(Int64, String)])
    func roundTrip(_ microseconds: Int64, _ text: String) {
        #expect(Timestamp(microseconds: microseconds).description == text)
        #expect(Timestamp(text)?.microseconds == microseconds)
    }

    @Test("a time without a zone has the given offset, and a zone in the text comes first")
    func givenOffset() {
        let hour: Int64 = 3_600_000_000
        for text in ["2026-11-21T10:30", "2026-11-21 10:30:00", "2026-11-21T09:30Z", "2026-11-21T11:30+02:00"] {
            #expect(Timestamp(text) { _ in hour }?.description == "2026-11-21T09:30:00.000000Z", "\(text)")
        }
        #expect(Timestamp("2026-11-21") { _ in hour }?.description == "2026-11-20T23:00:00.000000Z")
        #expect(Timestamp("2026-11-21T10:30 ") { _ in hour } == nil)
    }

    @Test("a time that is read soon is short, and has a date on another day of the reader")
    func short() throws {
        let now = try #require(Timestamp("2026-11-21T09:30:05.7Z"))
        let ten: Int64 = 10 * 3_600_000_000
        #expect(now.short(at: now) { _ in 0 } == "09:30:05")
        #expect((now - ten).short(at: now) { _ in 0 } == "2026-11-20 23:30:05")
        #expect((now - ten).short(at: now) { _ in ten } == "09:30:05")
        _ = Timestamp(microseconds: .max).short(at: now) { _ in ten }
    }

    @Test(
        "seconds, fraction and time zone are optional",
        arguments: [
            ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
            ("2026-11-21T09:30", "2026-11-21T09:30:00.000000Z"),
            ("2026-11-21 09:30:05", "2026-11-21T09:30:05.000000Z"),
            ("2026-11-21t09:30:05z", "2026-11-21T09:30:05.000000Z"),
            ("2026-11-21T09:30Z", "2026-11-21T09:30:00.000000Z"),
            ("2026-11-21T09:30:00.5Z", "2026-11-21T09:30:00.500000Z"),
            ("2026-11-21T09:30:00.000001", "2026-11-21T09:30:00.000001Z"),
            ("2026-11-21T09:30:00.123456789Z", "2026-11-21T09:30:00.123456Z"),
            ("2026-11-21T09:30:00+01:00", "2026-11-21T08:30:00.000000Z"),
            ("2026-11-21T00:30:00+0530", "2026-11-20T19:00:00.000000Z"),
            ("2026-12-31T23:30:00-00:45", "2027-01-01T00:15:00.000000Z"),
            ("1970-01-01T00:00:00+14:00", "1969-12-31T10:00:00.000000Z"),
            ("2026-11-21T09:30:00+01", "2026-11-21T08:30:00.000000Z"),
            ("2026-11-21T09:30:00,25Z", "2026-11-21T09:30:00.250000Z"),
            ("20261121T093005Z", "2026-11-21T09:30:05.000000Z"),
            // Leap seconds.
            ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"),
            ("2016-12-31T23:59:60.75", "2016-12-31T23:59:59.999999Z"),
            ("20170101T005960+0100", "2016-12-31T23:59:59.999999Z"),
            ("20261121T0930+0100", "2026-11-21T08:30:00.000000Z"),
        ])
    func shortForms(_ text: String, _ expected: String) {
        #expect(Timestamp(text)?.description == expected)
    }

    @Test(
        "a whole number of microseconds is parsed",
        arguments: [0, 42, -42, 1_700_000_000_000_000, .max, .min] as [Int64])
    func numbers(_ microseconds: Int64) {
        #expect(Timestamp(String(microseconds))?.microseconds == microseconds)
    }

    @Test(
        "an invalid text is not parsed",
        arguments: [
            "", " ", "now", "1.5", "1e6", "0x10", "9223372036854775808", "2026-11", "2026-1-1", "26-11-21",
            "2026-00-10",
            "2026-13-01", "2026-11-00", "2026-11-31", "2023-02-29", "1900-02-29", "2100-02-29", "2026-11-21T",
            "2026-11-21T9:30",
            "2026-11-21T24:00", "2026-11-21T09:60", "2026-11-21T09:30:60", "2026-11-21T23:59:60+01:00",
            "2026-11-21T23:59:61Z",
            "2026-11-21T09:30:00.",
            "2026-11-21T09:30:00.Z",
            "2026-11-21T09:30:00ZZ", "2026-11-21T09:30:00 Z", "2026-11-21T09:30:00+1",
            "2026-11-21T09:30:00+24:00", "2026-11-21T09:30:00+01:60", "2026-11-21T09:30:00+", "2026-11-21Z",
            " 2026-11-21",
            "2026-11-21 ", "２０２６-11-21", "2026/11/21", "2026-11-21T09",
        ])
    func invalid(_ text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("random times in the years 0 to 9999 survive a round trip")
    func randomRoundTrip() {
        var (random, seed) = seeded("timestamp round trip")
        for _ in 0..<20_000 {
            let time = Timestamp(
                microseconds: .random(in: -62_167_219_200_000_000...253_402_300_799_999_999, using: &random))
            #expect(Timestamp(time.description) == time, "seed \(seed)")
        }
    }

    @Test("the first and last day of each month agree with the calendar")
    func everyMonth() {
        var day = 0
        for year in 1970...2405 {
            for month in 1...12 {
                let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
                let length = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
                for dayOfMonth in [1, length] {
                    let text = "\(year)-\(month < 10 ? "0" : "")\(month)-\(dayOfMonth < 10 ? "0" : "")\(dayOfMonth)"
                    #expect(Timestamp(text)?.microseconds == Int64(day + dayOfMonth - 1) * 86_400_000_000)
                }
                day += length
            }
        }
    }

    @Test("the JSON form is the number of microseconds")
    func json() throws {
        let time = Timestamp(microseconds: 1_700_000_000_000_001)
        let data = try JSONEncoder().encode([time])
        #expect(String(decoding: data, as: UTF8.self) == "[1700000000000001]")
        #expect(try JSONDecoder().decode([Timestamp].self, from: data) == [time])
    }

    @Test("times can be added, subtracted and compared")
    func arithmetic() {
        let time = Timestamp(microseconds: 1000)
        #expect(time + 5 - time == 5)
        #expect((time - 1500).microseconds == -500)
        #expect(time < time + 1)
    }
}
