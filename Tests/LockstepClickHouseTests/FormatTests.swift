import LockstepModel
import LockstepStore
import Testing

@testable import LockstepClickHouse

@Suite("Formats of ClickHouse")
struct FormatTests {
    @Test("RowBinary has little-endian numbers, lengths as LEB128, and a byte for NULL")
    func rowBinary() {
        var rows = RowBinary()
        rows.append(Int64(-2))
        rows.append(0.5)
        rows.append(String(repeating: "x", count: 300))
        rows.append(nil as Int64?)
        rows.append("µ" as String?)
        rows.endRow()
        let expected: [UInt8] =
            [0xFE] + Array(repeating: 0xFF, count: 7) + [0, 0, 0, 0, 0, 0, 0xE0, 0x3F]
            + [0xAC, 0x02] + Array(repeating: UInt8(ascii: "x"), count: 300) + [1, 0, 2, 0xC2, 0xB5]
        #expect(rows.bytes == expected)
        #expect(rows.count == 1)
    }

    @Test("TabSeparated distinguishes NULL, empty and escaped values")
    func tabSeparated() {
        let body = "a\\tb\\\\N\t\\N\t\n\\'\\n\tx\ty\n"
        #expect(TabSeparated.rows(Array(body.utf8)) == [["a\tb\\N", nil, ""], ["'\n", "x", "y"]])
    }

    @Test("an exception has the server's code and text")
    func exception() {
        let old = ClickHouseException(
            "Code: 60, e.displayText() = DB::Exception: Table a.b doesn't exist., e.what() = x")
        #expect(old.code == 60 && old.text.hasPrefix("Table a.b"))
        let new = ClickHouseException("Code: 497. DB::Exception: writer: Not enough privileges. (ACCESS_DENIED)")
        #expect(new.code == 497 && new.text.hasPrefix("writer: Not enough"))
        #expect(ClickHouseException("<html>").code == nil)
    }

    @Test("the settings depend on the version")
    func version() throws {
        #expect(try #require(ServerVersion("18.16.1")).syncsInserts == false)
        #expect(try #require(ServerVersion("20.9.3")).syncsInserts == false)
        #expect(try #require(ServerVersion("20.10.1")).syncsInserts)
        #expect(try #require(ServerVersion("25.3.2.39")).settings.contains("max_partitions"))
        #expect(ServerVersion("") == nil && ServerVersion("new") == nil)
    }

    @Test("the hash depends on every value, but not on the sign of zero or the bits of NaN")
    func hash() {
        let hasher = SampleHasher(.accelerometer)
        func hash(_ values: [Double]) -> UInt64 {
            let block = SampleBlock(stream: .accelerometer, times: [0], columns: values.map { [$0] })
            return hasher.hashes(of: block)[0]
        }
        #expect(hash([0, 1, 2]) == hash([-0.0, 1, 2]))
        #expect(hash([.nan, 1, 2]) == hash([-.nan, 1, 2]))
        #expect(hash([.nan, 1, 2]) != hash([1, .nan, 2]))
        #expect(Set([hash([0, 1, 2]), hash([1, 0, 2]), hash([0, 1, 2.0.nextUp]), hash([.nan, 1, 2])]).count == 4)
    }

    @Test("late samples that are far apart are looked up in ranges of their own")
    func lookupRanges() {
        let second: Int64 = 1_000_000
        #expect(ClickHouseStore.ranges(of: [5, 1, 3]) == [1...5])
        #expect(
            ClickHouseStore.ranges(of: [100 * second, 0, 1, 101 * second]) == [0...1, 100 * second...101 * second])
        #expect(ClickHouseStore.ranges(of: [.max, .min]) == [.min ... .min, .max ... .max])
        #expect(ClickHouseStore.ranges(of: []).isEmpty)
    }

    @Test("only ranges that have changed are written")
    func ranges() {
        let old = SequenceSet([1...5, 8...9, 20...30])
        var new = old
        new.insert(10)
        new.insert(6...7)
        #expect(BatchNumbers.ranges(of: new, notIn: old) == [1...10])
        new.insert(31)
        #expect(BatchNumbers.ranges(of: new, notIn: old) == [1...10, 20...31])
        #expect(BatchNumbers.ranges(of: old, notIn: old).isEmpty)
    }
}
