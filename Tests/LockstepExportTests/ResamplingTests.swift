import LockstepModel
import LockstepStore
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

    /// Returns the lines of a table of the pressure of one device.
    private func table(_ samples: StoredPressure, rate: Double, _ range: Range<Int64>) throws -> [String] {
        let export = try ResampledExport(
            [.pressure], of: [samples.device], rate: rate,
            range: Timestamp(microseconds: range.lowerBound)..<Timestamp(microseconds: range.upperBound),
            isCollectorTime: false, gap: nil, in: samples)
        var bytes: [UInt8] = []
        let rows = try export.run(
            in: samples, writer: CSVWriter(columns: export.columns, hasDevice: false), write: { bytes += $0 })
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").dropFirst().map(String.init)
        #expect(lines.count == rows)
        return lines
    }

    @Test("a rate far below the sensor's gives the same values as all samples", arguments: [1, 0.3, 7, 130])
    func lowRate(rate: Double) throws {
        let samples = StoredPressure((0..<10_000).map { $0 * 10_000 + $0 % 7 })
        let lines = try table(samples, rate: rate, 0..<100_000_000)
        let resampler = SeriesResampler(.pressure, gap: 25_000)
        let times = (0..<Int64(100 * rate)).map { Int64((Double($0) * 1e6 / rate).rounded()) }
        let all = resampler.values(of: samples.times.map { ($0, [StoredPressure.value($0)]) }, at: times)
        let expected = zip(times, all).filter { !$0.1[0].isNaN }.map(\.0)
        #expect(lines.count == expected.count)
        #expect(lines.map { $0.prefix { $0 != "," } } == expected.map { "\($0)"[...] })
        // The pressure is the time in s.
        #expect(
            zip(lines, expected).allSatisfy { line, time in
                abs((Double(line.split(separator: ",").last ?? "") ?? 0) - Double(time) / 1e6) < 1e-6
            })
    }

    @Test("the usual interval is that of the range, whatever the rate was before")
    func usualInterval() throws {
        let fast = (0..<2000).map { Int64($0) * 5000 }
        let slow = (0..<500).map { 10_000_000 + Int64($0) * 20_000 }
        let lines = try table(StoredPressure(fast + slow), rate: 100, 12_000_000..<15_000_000)
        #expect(lines.count == 300)
    }
}

/// Samples of the stream pressure of one device: each is its time in s.
private final class StoredPressure: MergeReading, ClockEstimateReading {
    let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))
    let times: [Int64]

    init(_ times: [Int64]) { self.times = times }

    static func value(_ time: Int64) -> Double { Double(time) / 1e6 }

    func timeRanges(
        of stream: SensorStream, devices: [DeviceAddress], from: Timestamp?, to: Timestamp?
    ) throws(StoreError) -> [DeviceAddress: ClosedRange<Timestamp>] { [:] }

    func merge(
        streams: [SensorStream], devices: [DeviceAddress], from: Timestamp?, to: Timestamp?,
        each: (SampleRow, Int) throws -> Void
    ) throws {
        for time in times.map(Timestamp.init(microseconds:)) where time >= from ?? time && to.map({ time < $0 }) ?? true
        {
            try each(SampleRow(device: device, time: time, values: [Self.value(time.microseconds)]), 0)
        }
    }

    func clockPoints(
        of device: DeviceAddress, from: Timestamp?, to: Timestamp?, on timeLine: ClockTimeLine
    ) throws(StoreError) -> [ClockPoint] { [] }

    func newestClocks() throws(StoreError) -> [(device: DeviceAddress, point: ClockPoint)] { [] }
}
