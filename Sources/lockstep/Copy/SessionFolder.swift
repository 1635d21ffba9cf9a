import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepWire

/// A session in a folder that `lockstep export session` has written.
struct SessionFolder {
    let session: RecordingSession
    private let path: String
    private let tables: [String]

    /// Reads the session; nil if the path is no folder.
    /// - Throws: ``CommandFailure`` if the folder has none.
    init?(at path: String) throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return nil }
        guard names.contains("session.json") else {
            throw CommandFailure(
                "\(path) has no session.json: give a folder that 'lockstep export session' has written")
        }
        let text = try TextFile.read("\(path)/session.json", "the session")
        do { session = try SessionJSON.decodeWithKey(Data(text.utf8)) } catch {
            throw CommandFailure("\(path)/session.json is not a session: \(error)")
        }
        tables = names.filter { $0.hasSuffix(".csv") && $0 != "markers.csv" }.map { String($0.dropLast(4)) }.sorted()
        self.path = path
    }

    /// Calls `body` with the samples, of one device and stream at a time. Their times are on the collector's clock.
    /// - Throws: ``CommandFailure`` if a file has something else, or the error of `body`.
    func read(streams: [SensorStream], maxSamples: Int, _ body: (SampleBlock, DeviceAddress) throws -> Void) throws {
        for table in tables {
            guard let stream = streams.first(where: { $0.table == table }) else {
                throw CommandFailure(
                    "\(path)/\(table).csv has samples of a stream that the target does not know: start its collector once "
                        + "with the --config that declares it")
            }
            try read(stream, maxSamples: maxSamples, body)
        }
    }

    private func read(
        _ stream: SensorStream, maxSamples: Int, _ body: (SampleBlock, DeviceAddress) throws -> Void
    ) throws {
        let file = "\(path)/\(stream.table).csv"
        let lines = try TextFile.read(file, "the samples").utf8.split(separator: UInt8(ascii: "\n"))
        let names = lines.first.map { ArchiveRows.fields(Array($0)[...]) } ?? []
        let columns = stream.columns.map { names.firstIndex(of: $0.name) }
        guard let group = names.firstIndex(of: "group"), let device = names.firstIndex(of: "device"),
            let time = names.firstIndex(of: "t")
        else { throw CommandFailure("the first line of \(file) names no group, device and t") }
        var (block, owner) = (SampleBlock(stream: stream), DeviceAddress?.none)
        for (number, line) in lines.enumerated().dropFirst() {
            let fields = ArchiveRows.fields(Array(line)[...])
            guard fields.count == names.count, let t = Int64(fields[time]),
                let group = try? GroupID(validating: fields[group]),
                let device = try? DeviceID(validating: fields[device]),
                let values = Self.values(fields, columns, of: stream)
            else { throw CommandFailure("\(file), line \(number + 1): this is no sample") }
            let address = DeviceAddress(group: group, device: device)
            if let last = owner, last != address || block.times.count == maxSamples {
                try body(block, last)
                block = SampleBlock(stream: stream)
            }
            owner = address
            block.append(time: Timestamp(microseconds: t), values: values)
        }
        if let owner { try body(block, owner) }
    }

    /// Returns the values of a line; nil if one is not of the kind of its column.
    private static func values(_ fields: [String], _ columns: [Int?], of stream: SensorStream) -> [Double]? {
        var values: [Double] = []
        for (column, index) in zip(stream.columns, columns) {
            guard let index, !fields[index].isEmpty else {
                values.append(.nan)
                continue
            }
            let words = column.kind.words
            guard let value = words.map({ $0.firstIndex(of: fields[index]).map(Double.init) }) ?? Double(fields[index])
            else { return nil }
            values.append(value)
        }
        return values
    }
}
