import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepTransfer

/// Reads a file of an archive, part by part, and compares it with its SHA-256.
final class ArchiveFileReader {
    private let path: String
    private let entry: ArchiveEntry
    private let descriptor: Int32
    private let content = Inflate()
    private var hash = SHA256()
    private var bytes = [UInt8](repeating: 0, count: 65_536)

    init(folder: String, _ entry: ArchiveEntry) throws {
        path = "\(folder)/\(entry.file)"
        self.entry = entry
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw CommandFailure("cannot read \(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// Calls `body` with some of the content.
    /// - Returns: whether there is more.
    /// - Throws: ``CommandFailure`` if it is damaged or not the file of the manifest, or the error of `body`.
    func next(_ body: (ArraySlice<UInt8>) throws -> Void) throws -> Bool {
        let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { return true }
        guard count >= 0 else { throw CommandFailure("cannot read \(path): \(String(cString: strerror(errno)))") }
        guard count == 0 else {
            hash.update(bytes[..<count])
            do { try content.unpack(Array(bytes[..<count]), body) } catch is Inflate.Problem { throw damage }
            return true
        }
        guard hash.digits == entry.hash, content.isAtEnd else { throw damage }
        return false
    }

    private var damage: CommandFailure {
        CommandFailure("\(path) is damaged: it is not the file that manifest.csv lists. Restore it from a copy")
    }
}

/// The samples of a file of an archive, in order of time.
final class ArchiveRows {
    /// The fields of each file before those of the stream.
    private static let leading = ["group", "device", "stream", "t", "time"]

    private let reader: ArchiveFileReader
    private let stream: SensorStream
    private let device: DeviceAddress
    private var rest: [UInt8] = []
    /// The index of the stream's column in each field behind those; nil before the header.
    private var columns: [Int?]?
    private var rows: [SampleRow] = []
    private var position = 0
    private var isAtEnd = false

    init(_ entry: ArchiveEntry, of stream: SensorStream, in folder: String) throws {
        reader = try ArchiveFileReader(folder: folder, entry)
        self.stream = stream
        device = entry.device
    }

    /// The next sample, or nil after the last one. Columns that the stream does not have are left out.
    func peek() throws -> SampleRow? {
        while position == rows.count, !isAtEnd {
            rows.removeAll(keepingCapacity: true)
            position = 0
            isAtEnd = try !reader.next { rest += $0 }
            try parse()
        }
        return position < rows.count ? rows[position] : nil
    }

    func skip() { position += 1 }

    private func parse() throws {
        var start = rest.startIndex
        while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let fields = Self.fields(rest[start..<end])
            start = end + 1
            let others = fields.dropFirst(Self.leading.count)
            guard let columns else {
                guard fields.starts(with: Self.leading) else {
                    throw CommandFailure("'\(fields.joined(separator: ","))' is not the header of a file of an archive")
                }
                self.columns = others.map { name in stream.columns.firstIndex { $0.name == name } }
                continue
            }
            guard fields.count == Self.leading.count + columns.count, let time = Int64(fields[3]) else {
                throw CommandFailure("the line '\(fields.joined(separator: ","))' of an archive is not a sample")
            }
            var values = [Double](repeating: .nan, count: stream.columns.count)
            for (field, column) in zip(others, columns) {
                guard let column, !field.isEmpty else { continue }
                let words = stream.columns[column].kind.words
                values[column] =
                    (words == nil ? Double(field) : words?.firstIndex(of: field).map(Double.init)) ?? .nan
            }
            rows.append(SampleRow(device: device, time: Timestamp(microseconds: time), values: values))
        }
        rest.removeSubrange(..<start)
    }

    /// Splits a line at its commas, except within quotes.
    static func fields(_ line: ArraySlice<UInt8>) -> [String] {
        var fields: [[UInt8]] = [[]]
        var isQuoted = false
        var last: UInt8?
        for byte in line {
            switch byte {
            case UInt8(ascii: "\""):
                // Two quotes stand for one.
                if !isQuoted, last == byte { fields[fields.count - 1].append(byte) }
                isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted: fields.append([])
            default: fields[fields.count - 1].append(byte)
            }
            last = byte
        }
        return fields.map { String(decoding: $0, as: UTF8.self) }
    }
}
