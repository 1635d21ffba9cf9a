import LockstepModel
import Testing

@testable import LockstepExport

@Suite("Samples at other times")
struct ResamplingTests {
    private func values(
        _ stream: SensorStream, gap: Int64 = 100, _ samples: [(time: Int64, values: [Double])], at times: [Int64]
    ) -> [[Double]] {
        SeriesResampler(stream, gap: gap).values(of: samples, at: times)
    }

    @Test("numbers are on the straight line between two samples, and exact at a sample")
    func linear() {
        let samples: [(time: Int64, values: [Double])] = [(0, [0, 0, -1]), (10, [1, 0.3, -1])]
        #expect(
            values(.accelerometer, samples, at: [0, 1, 5, 10]) == [
                [0, 0, -1], [0.1, 0.03, -1], [0.5, 0.15, -1], [1, 0.3, -1],
            ])
    }

    @Test("there are no values in gaps, before the first sample and after the last one")
    func gaps() {
        let samples: [(time: Int64, values: [Double])] = [(0, [1]), (100, [2]), (201, [3])]
        let known = values(.pressure, samples, at: [-1, 0, 50, 100, 150, 201, 202]).map { $0[0] }
        #expect(known.map { $0.isNaN } == [true, false, false, false, true, false, true])
        #expect(known[2] == 1.5)
        #expect(values(.pressure, [], at: [0])[0][0].isNaN)
    }

    @Test("an unknown value of one column leaves the others known")
    func unknown() throws {
        let resampler = SeriesResampler(.location, gap: 100)
        let column = { (name: String) in try #require(resampler.columns.firstIndex { $0.name == name }) }
        let rows = resampler.values(
            of: [(0, [50, 8, .nan, 1, 2, 3, 350, 3, .nan]), (10, [51, 8, 7, 1, 2, 3, 20, 2, .nan])], at: [4, 6])
        #expect(try rows[0][column("lat")] == 50.4 && rows[0][column("alt")].isNaN)
        #expect(try rows.map { $0[try column("fix")] } == [3, 2], "whole numbers are those of the nearer sample")
        #expect(try rows.map { $0[try column("course")] } == [2, 8], "a course turns the shorter way")
    }

    @Test("a longitude crosses the 180th meridian")
    func meridian() throws {
        let resampler = SeriesResampler(.location, gap: 100)
        let index = try #require(resampler.columns.firstIndex { $0.name == "lon" })
        let row = { (lon: Double) in [0, lon, .nan, .nan, .nan, .nan, .nan, 3, .nan] }
        let rows = resampler.values(of: [(0, row(179.8)), (10, row(-179.8))], at: [2, 5, 8])
        #expect(rows.map { $0[index] } == [179.88, -180, -179.88])
        let east = resampler.values(of: [(0, row(179)), (10, row(179.5))], at: [5])
        #expect(east[0][index] == 179.25)
    }

    @Test("an attitude turns the shorter way and stays a unit quaternion")
    func attitude() {
        var first = [Double](repeating: 0, count: SensorStream.deviceMotion.columns.count)
        var second = first
        // A quarter of a turn about z, with the opposite sign, which is the same attitude.
        (first[0], second[0], second[3]) = (1, -0.5.squareRoot(), -0.5.squareRoot())
        let row = values(.deviceMotion, [(0, first), (10, second)], at: [5])[0]
        // Half of it: the cosine and sine of 22.5 degrees.
        #expect(abs(row[0] - 0.9238795325) < 1e-9 && abs(row[3] - 0.3826834324) < 1e-9)
        #expect(row[1] == 0 && row[2] == 0)
    }

    @Test("amounts of an interval and times have no columns")
    func amounts() {
        #expect(SeriesResampler(.steps, gap: 1).columns.map(\.name) == ["pace", "avg_pace", "cadence"])
    }

    @Test("the default gap is two and a half times the median interval, whatever a single gap is")
    func defaultGap() {
        #expect(SeriesResampler.gap(of: [0, 10, 20, 1_000_000, 1_000_010, 1_000_020]) == 25)
        #expect(SeriesResampler.gap(of: [5]) == nil)
    }
}
