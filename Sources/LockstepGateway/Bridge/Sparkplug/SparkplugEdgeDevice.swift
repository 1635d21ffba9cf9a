import LockstepModel

struct SparkplugEdgeDevice {
    /// The columns of a stream as metrics.
    private struct Entry {
        let stream: SensorStream
        /// The alias of the first column; the others follow.
        let alias: UInt64
        /// The time and values of the newest live sample.
        var last: (time: Int64, values: [Double])?
    }

    /// The maximum number of metrics in one message.
    static let maxMetrics = 2000

    let address: DeviceAddress
    var connectivity = DeviceConnectivity()
    /// Whether its birth message is published on this connection and no death followed.
    var isBorn = false
    private var entries: [Entry] = []

    init(_ address: DeviceAddress) { self.address = address }

    /// The id of the device in Sparkplug: `GROUP:DEVICE`. An id in Lockstep has no colon.
    var id: String { "\(address.group):\(address.device)" }

    /// Whether the device must have a birth message: it has sent samples and is connected.
    var isAlive: Bool { !entries.isEmpty && connectivity.isConnected }

    /// Records the last values of samples.
    /// - Parameter nextAlias: the first alias that is free; it is raised for a stream that is new.
    mutating func note(_ samples: SampleBlock, isLive: Bool, nextAlias: inout UInt64) {
        if !entries.contains(where: { $0.stream == samples.stream }) {
            entries.append(Entry(stream: samples.stream, alias: nextAlias))
            nextAlias += UInt64(samples.stream.columns.count)
            // A host application knows only the metrics of the birth message.
            isBorn = false
        }
        guard isLive, let last = samples.times.indices.max(by: { samples.times[$0] < samples.times[$1] }),
            let index = entries.firstIndex(where: { $0.stream == samples.stream })
        else { return }
        // Batches may arrive in another order than their samples were taken.
        if let known = entries[index].last, samples.times[last] < known.time { return }
        entries[index].last = (samples.times[last], samples.values(at: last))
    }

    /// Returns the metrics of the birth message.
    /// - Parameter now: the time of metrics without a value, in ms since 1970.
    func birth(at now: Int64) -> [SparkplugMetric] {
        entries.flatMap { entry in
            entry.stream.columns.enumerated().map { index, column in
                SparkplugMetric(
                    name: "\(entry.stream.name)/\(column.name)", alias: entry.alias + UInt64(index),
                    time: entry.last.map { Self.milliseconds($0.time) } ?? now, kind: Self.kind(of: column),
                    value: entry.last.flatMap { Self.value($0.values[index], of: column) })
            }
        }
    }

    /// Returns the metrics of data messages, in parts of at most ``maxMetrics``.
    func data(_ samples: SampleBlock, isLive: Bool) -> [[SparkplugMetric]] {
        guard let entry = entries.first(where: { $0.stream == samples.stream }) else { return [] }
        let columns = entry.stream.columns
        let size = max(1, Self.maxMetrics / columns.count)
        return stride(from: 0, to: samples.count, by: size).map { start in
            (start..<min(start + size, samples.count)).flatMap { row in
                columns.indices.map { index in
                    SparkplugMetric(
                        alias: entry.alias + UInt64(index), time: Self.milliseconds(samples.times[row]),
                        isHistorical: !isLive, value: Self.value(samples.columns[index][row], of: columns[index]))
                }
            }
        }
    }

    /// Returns a time in ms. Times are after 1970, so this rounds down.
    private static func milliseconds(_ time: Int64) -> Int64 { time / 1000 }

    private static func kind(of column: SensorStream.Column) -> SparkplugKind {
        switch column.kind {
        case .real: .double
        case .integer: .int64
        case .choice: .string
        }
    }

    private static func value(_ number: Double, of column: SensorStream.Column) -> SparkplugRawValue? {
        guard column.kind.accepts(number) else { return nil }
        switch column.kind {
        case .real: return .real(number)
        case .integer: return .whole(UInt64(bitPattern: Int64(number)))
        case .choice(let words): return .text(words[Int(number)])
        }
    }
}
