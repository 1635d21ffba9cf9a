import LockstepModel
public import LockstepStore

/// Writes rows as Apache Parquet: PLAIN values without compression, in groups of up to 65,536 rows, which are held in memory.
///
/// The columns are `group`, `device`, `time` (a timestamp in µs, UTC), then those of the rows. Unknown values are null.
///
/// Source: the specification of the format, https://parquet.apache.org/docs/file-format.
public struct ParquetWriter: RowWriter {
    private enum PhysicalType: Int { case int64 = 2, double = 5, byteArray = 6 }

    /// The values of one column of the current group.
    private struct Column {
        let name: String
        let type: PhysicalType
        var words: [[UInt8]] = []
        var isTime = false
        var isOptional = true
        var values: [UInt8] = []
        /// For each row, whether its value is known.
        var isKnown: [Bool] = []

        mutating func append(_ text: [UInt8]) {
            withUnsafeBytes(of: UInt32(text.count).littleEndian) { values.append(contentsOf: $0) }
            values.append(contentsOf: text)
        }

        mutating func append(_ number: UInt64) {
            withUnsafeBytes(of: number.littleEndian) { values.append(contentsOf: $0) }
        }

        mutating func append(value: Double) {
            isKnown.append(value.isFinite)
            guard value.isFinite else { return }
            switch type {
            case .byteArray: append(words[Int(value)])
            case .double: append(value.bitPattern)
            // SQLite does not enforce types, so other programs may have stored fractions.
            case .int64: append(UInt64(bitPattern: Int64(exactly: value.rounded()) ?? 0))
            }
        }
    }

    /// A written column of a group.
    private struct Chunk {
        let offset: Int
        let size: Int
    }

    /// The number of rows of a group: fewer in wide tables, because a group is held in memory.
    private let groupRows: Int

    private var columns: [Column]
    private let hasDevice: Bool
    private let creator: String
    /// The number of rows of the current group, and of each written one.
    private var rows = 0
    private var groups: [(rows: Int, chunks: [Chunk])] = []
    /// The number of bytes that are written.
    private var offset = 0

    /// Creates a writer.
    /// - Parameters:
    ///   - columns: the columns after device and time.
    ///   - hasDevice: whether there are the columns `group` and `device`.
    ///   - creator: the name and version of the program.
    public init(columns: [ExportColumn], hasDevice: Bool = true, creator: String) {
        self.hasDevice = hasDevice
        self.creator = creator
        let names = hasDevice ? ["group", "device"] : []
        self.columns =
            names.map { Column(name: $0, type: .byteArray, isOptional: false) }
            + [Column(name: "time", type: .int64, isTime: true, isOptional: false)]
            + columns.map { column in
                switch column.kind {
                case .real: Column(name: column.name, type: .double)
                case .integer: Column(name: column.name, type: .int64)
                case .choice(let words):
                    Column(name: column.name, type: .byteArray, words: words.map { Array($0.utf8) })
                }
            }
        groupRows = max(1, min(65_536, 4_000_000 / self.columns.count))
    }

    public mutating func begin(into output: inout OutputBuffer) { write(Array("PAR1".utf8), into: &output) }

    public mutating func write(_ row: SampleRow, stream: Int, into output: inout OutputBuffer) {
        var index = 0
        if hasDevice {
            columns[0].append(Array(row.device.group.rawValue.utf8))
            columns[1].append(Array(row.device.device.rawValue.utf8))
            index = 2
        }
        columns[index].append(UInt64(bitPattern: row.time.microseconds))
        for (number, value) in row.values.enumerated() { columns[index + 1 + number].append(value: value) }
        rows += 1
        if rows == groupRows { endGroup(into: &output) }
    }

    public mutating func end(into output: inout OutputBuffer) {
        if rows > 0 { endGroup(into: &output) }
        let footer = footer()
        write(footer, into: &output)
        withUnsafeBytes(of: UInt32(footer.count).littleEndian) { output.append(Array($0)) }
        output.append("PAR1")
    }

    private mutating func write(_ bytes: [UInt8], into output: inout OutputBuffer) {
        output.append(bytes)
        offset += bytes.count
    }

    /// Writes the current rows, each column as one page.
    private mutating func endGroup(into output: inout OutputBuffer) {
        var chunks: [Chunk] = []
        for index in columns.indices {
            let levels = columns[index].isOptional ? Self.levels(columns[index].isKnown) : []
            var header = ThriftWriter()
            let size = levels.count + columns[index].values.count
            header.element { header in
                header.int32(1, 0)
                header.int32(2, size)
                header.int32(3, size)
                header.structure(5) { page in
                    // The number of values, PLAIN, and RLE for the levels.
                    for (field, value) in [(1, rows), (2, 0), (3, 3), (4, 3)] { page.int32(field, value) }
                }
            }
            chunks.append(Chunk(offset: offset, size: header.bytes.count + size))
            for part in [header.bytes, levels, columns[index].values] { write(part, into: &output) }
            columns[index].values.removeAll(keepingCapacity: true)
            columns[index].isKnown.removeAll(keepingCapacity: true)
        }
        groups.append((rows, chunks))
        rows = 0
    }

    /// Returns the definition levels of a page, 1 for a known value: one run of bits, after its length in bytes.
    private static func levels(_ isKnown: [Bool]) -> [UInt8] {
        let count = (isKnown.count + 7) / 8
        var run: [UInt8] = []
        var header = UInt32(count) << 1 | 1
        while header > 0x7F {
            run.append(UInt8(truncatingIfNeeded: header) | 0x80)
            header >>= 7
        }
        run.append(UInt8(header))
        var bits = [UInt8](repeating: 0, count: count)
        for (index, known) in isKnown.enumerated() where known { bits[index / 8] |= 1 << (index % 8) }
        run += bits
        return withUnsafeBytes(of: UInt32(run.count).littleEndian) { Array($0) } + run
    }

    private func footer() -> [UInt8] {
        var writer = ThriftWriter()
        writer.element { file in
            file.int32(1, 1)
            file.list(2, of: .structure, count: columns.count + 1)
            file.element { root in
                root.text(4, "schema")
                root.int32(5, columns.count)
            }
            for column in columns { file.element { Self.write(column, into: &$0) } }
            file.int64(3, groups.reduce(0) { $0 + $1.rows })
            file.list(4, of: .structure, count: groups.count)
            for group in groups {
                file.element { writer in
                    writer.list(1, of: .structure, count: columns.count)
                    for (column, chunk) in zip(columns, group.chunks) {
                        writer.element { Self.write(chunk, of: column, rows: group.rows, into: &$0) }
                    }
                    writer.int64(2, group.chunks.reduce(0) { $0 + $1.size })
                    writer.int64(3, group.rows)
                }
            }
            file.text(6, creator)
        }
        return writer.bytes
    }

    private static func write(_ column: Column, into schema: inout ThriftWriter) {
        schema.int32(1, column.type.rawValue)
        schema.int32(3, column.isOptional ? 1 : 0)
        schema.text(4, column.name)
        if column.type == .byteArray {
            schema.int32(6, 0)
            schema.structure(10) { $0.structure(1) }
        } else if column.isTime {
            schema.int32(6, 10)
            schema.structure(10) { kind in
                kind.structure(8) { time in
                    time.boolean(1, true)
                    time.structure(2) { $0.structure(2) }
                }
            }
        }
    }

    /// Writes where a column of a group is.
    private static func write(_ chunk: Chunk, of column: Column, rows: Int, into writer: inout ThriftWriter) {
        writer.int64(2, chunk.offset)
        writer.structure(3) { data in
            data.int32(1, column.type.rawValue)
            data.list(2, of: .int32, count: 2)
            for encoding in [0, 3] { data.zigzag(encoding) }
            data.list(3, of: .binary, count: 1)
            data.append(column.name)
            data.int32(4, 0)
            for (field, value) in [(5, rows), (6, chunk.size), (7, chunk.size), (9, chunk.offset)] {
                data.int64(field, value)
            }
        }
    }
}
