import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore

/// Writes the rows of a run that are in the time range, and counts them.
struct RefinedOutput {
    private let run: any RefinedWriting
    private let range: Range<Int64>
    private(set) var count = 0

    /// Runs `body`, and makes its rows valid instead of those of previous runs, or removes them after an error.
    ///
    /// - Parameters:
    ///   - times: the time range for which the rows are valid; it is not empty.
    ///   - open: begins the run.
    static func write(
        times: Range<Int64>, open: () throws -> any RefinedWriting, _ body: (inout RefinedOutput) throws -> Void
    ) throws -> RefinedOutput {
        let run = try open()
        var output = RefinedOutput(run: run, range: times)
        do {
            try body(&output)
            try run.complete(first: times.lowerBound, last: times.upperBound)
        } catch {
            try? run.discard()
            throw error
        }
        return output
    }

    /// Writes the rows that are in the time range.
    mutating func write(_ rows: [RefinedRow]) throws {
        let rows = rows.filter { range.contains($0.time) }
        guard !rows.isEmpty else { return }
        count += rows.count
        try run.write(rows)
    }
}

/// The samples of one stream for a run, with those before and after the time range that influence its results.
struct RefinedInput {
    let reader: StoreReader
    let device: DeviceAddress
    let from: Timestamp?
    let to: Timestamp?

    /// Returns the time range that a run replaces: the given one, or that of the stored samples.
    func times(of stream: SensorStream) throws -> Range<Int64> {
        let first = try from ?? reader.firstTime(of: stream, device, from: nil, to: to)
        let last = try to ?? reader.lastTime(of: stream, device).map { $0 + 1 }
        guard let first, let last, first < last else {
            throw CommandFailure("no samples of '\(stream.name)' of \(device) in this time range")
        }
        return first.microseconds..<last.microseconds
    }

    /// Calls `each` with the samples from `margin` µs before the time range to `margin` µs after it, in order of time.
    func read(_ stream: SensorStream, margin: Int64, each: (Timestamp, [Double]) throws -> Void) throws {
        // Times may be at the ends of their range.
        let start = from.map { Timestamp(microseconds: max($0.microseconds, .min + margin) - margin) }
        let end = to.map { Timestamp(microseconds: min($0.microseconds, .max - margin) + margin) }
        try reader.run(SampleQuery(device: device, stream: stream, from: start, to: end), cancellation: nil, each: each)
    }
}

extension StoreAddress {
    /// Begins a run that writes refined data of a device to the store.
    func refinedRun(
        of device: DeviceAddress, kind: RefinedKind, method: String, version: Int, parameters: String, now: Timestamp
    ) throws -> any RefinedWriting {
        switch self {
        case .sqlite(let path):
            return try RefinedRun(
                path: path, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now)
        case .clickHouse(let address):
            return try ClickHouseRefinedRun(
                address, device: device, kind: kind, method: method, version: version, parameters: parameters,
                now: now
            ) { Terminal.writeError("warning: \($0)") }
        }
    }
}
