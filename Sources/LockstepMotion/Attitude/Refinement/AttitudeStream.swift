import Glibc

/// Refines the attitudes of a recording of any length with bounded memory.
///
/// The recording is split where samples are missing for longer than `maxGap`, and long parts into pieces that overlap.
/// Each piece is smoothed with ``AttitudeSmoother`` together with a margin of samples before and after it, so that its
/// attitudes depend little on where it begins. Headings are aligned where pieces meet.
public struct AttitudeStream: Sendable {
    /// The longest interval between samples of one part, in µs.
    public let maxGap: Int64
    /// The duration of a piece without its margins, in µs.
    public let pieceDuration: Int64
    /// The duration of each margin, in µs.
    public let margin: Int64
    /// The number of parts so far.
    public private(set) var parts = 0

    private let smoother: AttitudeSmoother
    private var pending: [MotionSample] = []
    /// The first time for which no attitude has been returned.
    private var nextTime = Int64.min
    /// The attitude at the end of the previous piece that the next piece also contains.
    private var seam: RefinedAttitude?

    /// Creates a stream.
    public init(
        smoother: AttitudeSmoother = AttitudeSmoother(), maxGap: Int64 = 1_000_000,
        pieceDuration: Int64 = 600_000_000, margin: Int64 = 120_000_000
    ) {
        precondition(pieceDuration > 0 && margin >= 0, "a piece must have a duration")
        self.smoother = smoother
        self.maxGap = maxGap
        self.pieceDuration = pieceDuration
        self.margin = margin
    }

    /// Adds a sample. Samples that are not later than the previous one are ignored.
    ///
    /// - Returns: the attitudes that are complete.
    public mutating func append(_ sample: MotionSample) -> [RefinedAttitude] {
        guard let last = pending.last else {
            begin(sample)
            return []
        }
        guard sample.time > last.time else { return [] }
        if sample.time - last.time > maxGap {
            let results = finish()
            begin(sample)
            return results
        }
        pending.append(sample)
        let end = max(nextTime, pending[0].time) + pieceDuration
        guard sample.time >= end + margin else { return [] }
        let results = refine(before: end)
        pending.removeFirst(pending.firstIndex { $0.time >= end - margin } ?? 0)
        return results
    }

    /// Ends the part.
    ///
    /// - Returns: its remaining attitudes.
    public mutating func finish() -> [RefinedAttitude] {
        let results = refine(before: .max)
        pending = []
        return results
    }

    private mutating func begin(_ sample: MotionSample) {
        pending = [sample]
        nextTime = sample.time
        seam = nil
        parts += 1
    }

    /// Returns the attitudes from ``nextTime`` to `end`, exclusive.
    private mutating func refine(before end: Int64) -> [RefinedAttitude] {
        var results = smoother.attitudes(at: pending)
        alignHeading(of: &results)
        let first = results.firstIndex { $0.time >= nextTime } ?? results.count
        let last = results.firstIndex { $0.time >= end } ?? results.count
        if last < results.count { seam = results[last] }
        nextTime = end
        return Array(results[first..<last])
    }

    /// Removes the difference in heading to the previous piece. With a magnetic field, the difference is small and
    /// fades over half the margin; without, the heading is arbitrary, and the whole piece is rotated.
    private func alignHeading(of results: inout [RefinedAttitude]) {
        guard let seam, let own = results.first(where: { $0.time == seam.time }) else { return }
        let difference = seam.attitude * own.attitude.inverse
        let angle = 2 * atan2(difference.vector.z, difference.scalar)
        let fades = pending.contains { $0.magneticField != nil }
        let fadeTime = Double(max(margin / 2, 1))
        for index in results.indices {
            let age = Double(results[index].time - seam.time) / fadeTime
            let part = fades ? max(0, 1 - max(0, age)) : 1
            guard part > 0 else { break }
            results[index].attitude = VQF.rotatedAboutVertical(results[index].attitude, by: angle * part)
        }
    }
}
