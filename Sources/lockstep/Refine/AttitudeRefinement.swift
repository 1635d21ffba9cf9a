import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepStore

/// Passes stored samples through the smoother and writes the attitudes in the time range.
struct AttitudeRefinement {
    private var stream: AttitudeStream
    private let output: any RefinedWriting
    private var progress = ProgressLine()
    /// The times of the rows, in µs since 1970.
    private let times: Range<Int64>
    private var count = 0
    private var first: Int64?
    private var last: Int64?

    init(smoother: AttitudeSmoother, output: any RefinedWriting, times: Range<Int64>) {
        stream = AttitudeStream(smoother: smoother)
        self.output = output
        self.times = times
    }

    /// - Throws: ``CommandFailure`` if there are no attitudes; `StoreError`.
    mutating func run(_ motion: StoredMotion, _ device: DeviceAddress) throws -> RefineReport {
        defer { progress.end() }
        let range = (motion.from?.microseconds ?? .min)..<(motion.to?.microseconds ?? .max)
        try motion.read(margin: stream.margin) { sample in try write(stream.append(sample), in: range) }
        try write(stream.finish(), in: range)
        guard let first, let last else {
            throw CommandFailure(
                "gyroscope and accelerometer of \(device) have no samples at the same time in this time range")
        }
        try output.complete(
            first: motion.from?.microseconds ?? first, last: motion.to?.microseconds ?? last + 1)
        return RefineReport(
            device: device, noun: "attitude", rows: count, parts: stream.parts, first: first, last: last)
    }

    private mutating func write(_ attitudes: [RefinedAttitude], in range: Range<Int64>) throws {
        let rows = attitudes.lazy.filter { range.contains($0.time) }.map(RefinedRow.init)
        guard let begin = rows.first?.time, let end = attitudes.last(where: { range.contains($0.time) })?.time else {
            return
        }
        first = first ?? begin
        last = end
        count += rows.count
        try output.write(rows)
        let times = times
        progress.show(RefineProgress.line(end, of: times))
    }
}

extension RefinedRow {
    fileprivate init(_ attitude: RefinedAttitude) {
        let (rotation, bias) = (attitude.attitude, attitude.gyroscopeBias)
        self.init(
            time: attitude.time,
            values: [
                rotation.scalar, rotation.vector.x, rotation.vector.y, rotation.vector.z, bias.x, bias.y, bias.z,
                attitude.gyroscopeBiasSigma, attitude.isAtRest ? 1 : 0, attitude.isMagneticFieldDisturbed ? 1 : 0,
            ])
    }
}
