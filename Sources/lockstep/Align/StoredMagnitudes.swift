import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

/// The stored samples of two devices, read in blocks, so that memory use does not grow with the time range.
struct StoredMagnitudes {
    let reader: StoreReader
    let devices: (DeviceAddress, DeviceAddress)
    let stream: AlignedStream
    let from: Timestamp?
    let to: Timestamp?
    /// The offsets to search, in µs.
    let offsets: ClosedRange<Int64>

    /// - Throws: ``CommandFailure`` that says why there is no offset, and what to do.
    func alignment() throws -> MotionAlignment {
        try checkSamples()
        var aligner = MotionAligner(minMotion: stream.minMotion)
        var next = try reader.firstTime(of: stream.stream, devices.0, from: from, to: to)
        while let begin = next {
            let limit = min(begin + MotionAligner.blockDuration, to ?? Timestamp(microseconds: .max))
            let first = try series(of: devices.0, from: begin, to: limit)
            // Times may be at the ends of their range.
            if let start = begin.subtracting(offsets.upperBound), let end = limit.subtracting(offsets.lowerBound) {
                aligner.add(first, try series(of: devices.1, from: start, to: end), offsets: offsets)
            }
            next = try reader.firstTime(of: stream.stream, devices.0, from: limit, to: to)
        }
        do { return try aligner.result() } catch { throw CommandFailure(text(of: error)) }
    }

    private func checkSamples() throws {
        let need = "the devices are compared by it"
        try reader.checkSamples(of: stream.stream, devices.0, from: from, to: to, need: need)
        try reader.checkSamples(of: stream.stream, devices.1, from: nil, to: nil, need: need)
    }

    private func series(of device: DeviceAddress, from: Timestamp, to: Timestamp) throws -> MagnitudeSeries {
        var series = MagnitudeSeries()
        try reader.run(SampleQuery(device: device, stream: stream.stream, from: from, to: to), cancellation: nil) {
            time, values in
            series.append(time: time.microseconds, x: values[0], y: values[1], z: values[2])
        }
        return series
    }

    private func text(of error: MotionAlignmentError) -> String {
        func device(_ isFirst: Bool) -> DeviceAddress { isFirst ? devices.0 : devices.1 }
        func milliseconds(_ offset: Double) -> String { "\(fixed(offset / 1000, 1)) ms" }
        switch error {
        case .tooShort(let seconds):
            return "only \(fixed(seconds, 1)) s of samples of both devices may belong together: record at least 5 s of "
                + "common motion, or raise --max-offset"
        case .tooSlow(let isFirst, let rate):
            return "\(device(isFirst)) has \(fixed(rate, 1)) samples/s of '\(stream.stream.name)': use at least 10"
        case .noMotion(let isFirst, let deviation):
            return
                "\(device(isFirst)) was hardly moved: its magnitude varies by \(fixed(deviation, 4)) \(stream.unit); "
                + "shake both devices together"
        case .noMatch(let correlation, let significance):
            return "the devices were not moved together: the best correlation of their motions is "
                + "\(fixed(correlation, 2)), which is \(fixed(significance, 1)) times that of independent motions "
                + "(at least 0.3 and 5 times are required); choose the time of the common motion with --from and --to"
        case .outOfRange(let offset):
            return "the correlation is largest at the limit of the search, \(milliseconds(offset)): raise --max-offset"
        case .ambiguous(let offset, let other, let ratio):
            return
                "the offset is ambiguous: the correlation at \(milliseconds(other)) is \(fixed(ratio, 2)) of that at "
                + "\(milliseconds(offset)), as by regular steps; lower --max-offset, or shake both devices irregularly"
        case .inconsistent(let segments, let consistent):
            return "only \(consistent) of \(counted(segments, "segment")) agree on one offset: record a longer common "
                + "motion, or choose its time with --from and --to"
        }
    }
}

extension Timestamp {
    /// The time so much earlier, or nil if it is out of range.
    fileprivate func subtracting(_ duration: Int64) -> Timestamp? {
        let (time, overflows) = microseconds.subtractingReportingOverflow(duration)
        return overflows ? nil : Timestamp(microseconds: time)
    }
}
