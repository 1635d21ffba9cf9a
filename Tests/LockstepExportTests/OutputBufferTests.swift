import LockstepExport
import LockstepModel
import Testing

@Suite("OutputBuffer and TimeWriter")
struct OutputBufferTests {
    @Test(
        "a whole number is written as in its description",
        arguments: [0, 9, 10, -1, -10, 1_700_000_000_000_000, .max, .min] as [Int64])
    func wholeNumbers(_ number: Int64) {
        var output = OutputBuffer()
        output.append(number)
        #expect(String(decoding: output.bytes, as: UTF8.self) == "\(number)")
    }

    @Test("a time is written as in its description, whichever time was written before")
    func times() {
        var writer = TimeWriter()
        let near = (0..<2000).map { 1_700_000_000_000_000 + $0 * 999_983 } as [Int64]
        // Times around the limits of a second, of a day and of 1970.
        let edges = [0, -1, 1, -1_000_000, 999_999, 1_000_000, -999_999, 86_399_999_999, 86_400_000_000] as [Int64]
        var written: [String] = []
        let all = (near + edges + edges.reversed() + near.reversed()).map(Timestamp.init(microseconds:))
        for time in all {
            var output = OutputBuffer()
            writer.write(time, into: &output)
            written.append(String(decoding: output.bytes, as: UTF8.self))
        }
        #expect(written == all.map(\.description))
    }
}
