import FoundationEssentials
import LockstepCommandLine
import LockstepExport
import LockstepModel
import LockstepWire

/// A session in a folder that `lockstep export session` has written.
struct SessionFolder {
    let session: RecordingSession
    private let path: String
    private let tables: [String]
    /// The number of samples of each stream of each device.
    private let counts: [Series: Int]

    private struct Series: Hashable {
        let device: DeviceID
        let stream: String
    }

    /// Reads the session; nil if the path is no folder.
    /// - Throws: ``CommandFailure`` if the folder has none.
    init?(at path: String) throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return nil }
        guard names.contains("session.json") else {
            throw CommandFailure(
                "\(path) has no session.json: give a folder that 'lockstep export session' has written")
        }
        let text = try TextFile.read("\(path)/session.json", "the session")
        let streams: [RecordingSession.Series]
        do { (session, streams) = try SessionJSON.decodeWithKey(Data(text.utf8)) } catch {
            throw CommandFailure("\(path)/session.json is not a session: \(error)")
        }
        counts = Dictionary(
            streams.map { (Series(device: $0.device, stream: $0.stream), $0.samples) }, uniquingKeysWith: +)
        guard !names.contains(where: { $0.hasSuffix(".parquet") }) else {
            throw CommandFailure("\(path) has Parquet files: export the session with --format csv")
        }
        tables = names.filter { $0.hasSuffix(".csv") && $0 != "markers.csv" }.map { String($0.dropLast(4)) }.sorted()
        self.path = path
    }

    /// Calls `body` with the samples, of one device and stream at a time. Their times are on the collector's clock.
    /// - Returns: the largest bound of the times of each device, in µs, in parts of ten seconds, by the start of the part.
    /// - Throws: ``CommandFailure`` if the files have something else than the samples of the session, or the error of `body`.
    @discardableResult
    func read(
        streams: [SensorStream], maxSamples: Int, _ body: (SampleBlock, DeviceAddress) throws -> Void
    ) throws -> [DeviceAddress: [Timestamp: Int64]] {
        var found: [Series: Int] = [:]
        var bounds: [DeviceAddress: [Timestamp: Int64]] = [:]
        for table in tables {
            guard let stream = streams.first(where: { $0.table == table }) else {
                throw CommandFailure(
                    "\(path)/\(table).csv is not the file of a stream that the target knows: remove it if it is not of "
                        + "the session, or start the collector of the target once with the --config that declares it")
            }
            try read(stream, maxSamples: maxSamples, &bounds) { block, device in
                found[Series(device: device.device, stream: stream.name), default: 0] += block.times.count
                try body(block, device)
            }
        }
        for series in Set(counts.keys).union(found.keys) where counts[series] != found[series] {
            throw CommandFailure(
                "\(path) has \(found[series] ?? 0) of \(counted(counts[series] ?? 0, "sample")) of '\(series.stream)' of "
                    + "'\(series.device)' in session.json: export the session again")
        }
        return bounds
    }

    private func read(
        _ stream: SensorStream, maxSamples: Int, _ bounds: inout [DeviceAddress: [Timestamp: Int64]],
        _ body: (SampleBlock, DeviceAddress) throws -> Void
    ) throws {
        let file = "\(path)/\(stream.table).csv"
        let lines = try TextFile.read(file, "the samples").utf8.split(separator: UInt8(ascii: "\n"))
        let names =
            ["group", "device", "stream", "t", "time"] + stream.columns.map(\.name) + [CollectorTime.boundColumn.name]
        guard lines.first.map({ ArchiveRows.fields(Array($0)[...]) }) == names else {
            throw CommandFailure("the first line of \(file) is not \(names.joined(separator: ","))")
        }
        let devices = Dictionary(uniqueKeysWithValues: session.addresses.map { ($0.device.rawValue, $0) })
        var (block, owner) = (SampleBlock(stream: stream), DeviceAddress?.none)
        for (number, line) in lines.enumerated().dropFirst() {
            let fields = ArchiveRows.fields(Array(line)[...])
            guard fields.count == names.count, fields[0] == session.key.group.rawValue, fields[2] == stream.name,
                let device = devices[fields[1]],
                let time = Int64(fields[3]).map(Timestamp.init(microseconds:)), contains(time),
                let values = Self.values(fields[5...].dropLast(), of: stream),
                // Without estimates of its clock, a device has none.
                let bound = Double(fields.last?.isEmpty == false ? fields[names.count - 1] : "-1"),
                SensorStream.Kind.integer.accepts(bound)
            else { throw CommandFailure("\(file), line \(number + 1): this is no sample of the session") }
            if let last = owner, last != device || block.times.count == maxSamples {
                try body(block, last)
                block = SampleBlock(stream: stream)
            }
            owner = device
            block.append(time: time, values: values)
            guard bound >= 0 else { continue }
            let part = Timestamp(microseconds: time.microseconds - time.microseconds % 10_000_000)
            bounds[device, default: [:]][part, default: 0] = max(bounds[device]?[part] ?? 0, Int64(bound))
        }
        if let owner { try body(block, owner) }
    }

    private func contains(_ time: Timestamp) -> Bool {
        session.start.map { $0 <= time } == true && session.end.map { time < $0 } == true
    }

    /// Returns the values of a line; nil if one is not of its column.
    private static func values(_ fields: ArraySlice<String>, of stream: SensorStream) -> [Double]? {
        var values: [Double] = []
        for (column, field) in zip(stream.columns, fields) {
            let value = column.kind.words.map { $0.firstIndex(of: field).map(Double.init) } ?? Double(field)
            guard field.isEmpty ? !column.isRequired : value.map(column.accepts) == true else { return nil }
            values.append(value ?? .nan)
        }
        return values
    }
}
