import LockstepCommandLine
import LockstepModel
import LockstepStore

/// The lengths of the first and the longest range in which the first sample is looked for, in µs: a minute and about a month.
private let (firstSearch, longestSearch): (Int64, Int64) = (60_000_000, 31 * 86_400_000_000)

extension StoreReader {
    /// Returns the time of the first sample in a time range, or nil if there is none.
    ///
    /// A ClickHouse server reads all rows of a range to find the first one. So a short range is tried first, and then longer
    /// ones: otherwise, a reader that asks for what comes next would read the rest of the store each time.
    func firstTime(
        of stream: SensorStream, _ device: DeviceAddress, from: Timestamp?, to: Timestamp?
    ) throws -> Timestamp? {
        func first(_ from: Timestamp?, _ to: Timestamp?) throws -> Timestamp? {
            try timeRanges(of: stream, devices: [device], from: from, to: to)[device]?.lowerBound
        }
        guard var start = from?.microseconds else { return try first(from, to) }
        var length = firstSearch
        while length < longestSearch {
            let (end, overflows) = start.addingReportingOverflow(length)
            guard !overflows, to.map({ end < $0.microseconds }) ?? true else { break }
            if let time = try first(Timestamp(microseconds: start), Timestamp(microseconds: end)) { return time }
            start = end
            length *= 16
        }
        return try first(Timestamp(microseconds: start), to)
    }

    /// Returns the time of the last sample, or nil if there is none.
    func lastTime(of stream: SensorStream, _ device: DeviceAddress) throws -> Timestamp? {
        var last: Timestamp?
        try run(SampleQuery(device: device, stream: stream, detail: .last), cancellation: nil) { time, _ in last = time
        }
        return last
    }

    /// Checks that a time range has samples.
    ///
    /// - Parameter need: why they are needed.
    /// - Throws: ``CommandFailure`` that states what is missing.
    func checkSamples(
        of stream: SensorStream, _ device: DeviceAddress, from: Timestamp?, to: Timestamp?, need: String
    ) throws {
        guard try firstTime(of: stream, device, from: from, to: to) == nil else { return }
        let stored = try timeRanges(of: stream, devices: [device], from: nil, to: nil)
        throw CommandFailure(
            absence(of: stream.name, "\(device)", stored: Array(stored.values), advice: ": \(need)"))
    }
}

/// Returns why there are no samples, and which times have some.
/// - Parameters:
///   - range: the times that have none.
///   - stored: the times of the stored samples.
///   - advice: what follows if there are none at all.
func absence(
    of name: String, _ subject: String, in range: String = "in this time range", stored: [ClosedRange<Timestamp>],
    advice: String = ""
) -> String {
    guard let first = stored.map(\.lowerBound).min(), let last = stored.map(\.upperBound).max() else {
        return "no samples of '\(name)' are stored for \(subject)\(advice)"
    }
    return "no samples of '\(name)' of \(subject) \(range); stored are those from \(first.shown(decimals: 6)) to "
        + last.shown(decimals: 6)
}
