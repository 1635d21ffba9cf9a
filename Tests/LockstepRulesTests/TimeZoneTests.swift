import LockstepModel
import Testing

@testable import LockstepRules

@Suite("Time zones")
struct TimeZoneTests {
    /// A compiled zone of version 2 with one offset and without transitions.
    private func file(_ footer: String) -> [UInt8] {
        func header(_ counts: [UInt8]) -> [UInt8] {
            Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15) + counts.flatMap { [0, 0, 0, $0] }
        }
        return header([0, 0, 0, 0, 0, 0]) + header([0, 0, 0, 0, 1, 4]) + [0, 0, 0x0E, 0x10, 0, 0] + Array("CET\0".utf8)
            + Array(footer.utf8)
    }

    // As glibc has them, except for summer time all year, which RFC 9636, 3.3.1, defines.
    @Test(
        "the last transition is followed by the rule at the end of the file",
        arguments: [
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_216_249_999, 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_216_250_000, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_234_998_799, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_234_998_800, 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_342_653_199, 3_600),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_342_653_200, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_361_401_999, 7_200),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2_361_402_000, 3_600),
            ("EST5EDT,M3.2.0,M11.1.0", 2_215_061_999, -18_000),
            ("EST5EDT,M3.2.0,M11.1.0", 2_215_062_000, -14_400),
            ("EST5EDT,M3.2.0,M11.1.0", 2_235_621_599, -14_400),
            ("EST5EDT,M3.2.0,M11.1.0", 2_235_621_600, -18_000),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2_216_818_799, 39_600),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2_216_818_800, 37_800),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2_233_150_199, 37_800),
            ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2_233_150_200, 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 2_216_822_399, 39_600),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 2_216_822_400, 36_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 2_233_151_999, 36_000),
            ("AEST-10AEDT,M10.1.0,M4.1.0/3", 2_233_152_000, 39_600),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2_216_249_999, -7_200),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2_216_250_000, -3_600),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2_234_998_799, -3_600),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2_234_998_800, -7_200),
            ("IST-2IDT,M3.4.4/26,M10.5.0", 2_216_073_599, 7_200),
            ("IST-2IDT,M3.4.4/26,M10.5.0", 2_216_073_600, 10_800),
            ("IST-2IDT,M3.4.4/26,M10.5.0", 2_234_991_599, 10_800),
            ("IST-2IDT,M3.4.4/26,M10.5.0", 2_234_991_600, 7_200),
            ("AAA3BBB,J60/0,J300/0", 2_214_183_599, -10_800),
            ("AAA3BBB,J60/0,J300/0", 2_214_183_600, -7_200),
            ("AAA3BBB,J60/0,J300/0", 2_234_915_999, -7_200),
            ("AAA3BBB,J60/0,J300/0", 2_234_916_000, -10_800),
            ("AAA3BBB,59/0,299/0", 2_214_097_199, -10_800),
            ("AAA3BBB,59/0,299/0", 2_214_097_200, -7_200),
            ("AAA3BBB,59/0,299/0", 2_234_829_599, -7_200),
            ("AAA3BBB,59/0,299/0", 2_234_829_600, -10_800),
            ("JST-9", 2_300_000_000, 32_400),
            ("JST-9", 2_208_988_800, 32_400),
            ("EST5EDT,0/0,J365/25", 2_209_006_799, -14_400),
            ("EST5EDT,0/0,J365/25", 2_209_006_800, -14_400),
            ("EST5EDT,0/0,J365/25", 2_240_611_199, -14_400),
            ("EST5EDT,0/0,J365/25", 2_240_611_200, -14_400),
            ("GMT0BST,M3.5.0/1,M10.5.0", 2_216_249_999, 0),
            ("GMT0BST,M3.5.0/1,M10.5.0", 2_216_250_000, 3_600),
            ("GMT0BST,M3.5.0/1,M10.5.0", 2_234_998_799, 3_600),
            ("GMT0BST,M3.5.0/1,M10.5.0", 2_234_998_800, 0),
        ] as [(String, Int64, Int64)])
    func footer(_ text: String, _ seconds: Int64, _ offset: Int64) throws {
        let zone = try #require(TimeZoneRules(name: "test", file: file("\n\(text)\n")))
        #expect(zone.offset(at: seconds) == offset)
    }

    @Test("an empty rule keeps the last offset")
    func empty() {
        #expect(TimeZoneRules(name: "test", file: file("\n\n"))?.offset(at: 4_000_000_000) == 3600)
    }

    @Test(
        "a rule that is not valid is refused",
        arguments: [
            "", "\n", "CET-1", "\nCE-1\n", "\nCET\n", "\nCET-1CEST\n", "\nCET-1CEST,M3.5.0\n", "\nCET-25\n",
            "\nCET-1CEST,M13.5.0,M10.5.0\n", "\nCET-1CEST,M3.6.0,M10.5.0\n", "\nCET-1CEST,J0,J1\n",
            "\nCET-1CEST,366,1\n", "\nCET-1CEST,M3.5.0,M10.5.0/168\n", "\nCET-1CEST,M3.5.0,M10.5.0x\n", "\n<CET-1\n",
        ])
    func invalid(_ text: String) { #expect(TimeZoneRules(name: "test", file: file(text)) == nil) }

    @Test("transitions before the last one come from the file")
    func transitions() throws {
        let footer = try #require(PosixTimeZone("CET-1CEST,M3.5.0,M10.5.0/3"))
        let zone = TimeZoneRules(name: "test", transitions: [0, 1_000_000_000], offsets: [7, 8, 3600], footer: footer)
        #expect(zone.offset(at: -1) == 7 && zone.offset(at: 999_999_999) == 8)
        // 2001-09-09, in summer.
        #expect(zone.offset(at: 1_000_000_000) == 7200)
    }
}
