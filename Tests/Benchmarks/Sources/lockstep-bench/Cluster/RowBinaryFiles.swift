import Foundation
import LockstepModel

/// The rows of a load in the format RowBinary, one file for each table.
struct RowBinaryFiles {
    private let files: [(table: String, path: String)]

    /// Converts the rows of a load.
    init(_ load: IngestLoad, in folder: String) throws {
        let rows = try Data(contentsOf: URL(fileURLWithPath: load.rowFile), options: .alwaysMapped)
        files = IngestLoad.streams.map { ("received_" + $0.table, "\(folder)/\($0.table).rowbinary") }
        var contents = files.map { _ in Data(capacity: rows.count) }
        // Device and stream (4 bytes each), time and three values (8 bytes each).
        let size = 40
        for start in stride(from: rows.startIndex, to: rows.endIndex, by: size) {
            let row = rows[start..<start + size]
            let stream = Int(row.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 4, as: Int32.self) })
            let device = Int64(row.withUnsafeBytes { $0.loadUnaligned(as: Int32.self) })
            // Devices are hashes, and _rank and _values_hash have no order.
            let mixed = UInt64(bitPattern: device) &* 0x9E37_79B9_7F4A_7C15
            withUnsafeBytes(of: Int64(mixed >> 1)) { contents[stream].append(contentsOf: $0) }
            contents[stream].append(row[(start + 8)..<(start + 16)])
            for value in 0..<3 {
                // The values are nullable, and not NULL.
                contents[stream].append(0)
                contents[stream].append(row[(start + 16 + 8 * value)..<(start + 24 + 8 * value)])
            }
            withUnsafeBytes(of: UInt64.max - 1_760_000_000_000_000) { contents[stream].append(contentsOf: $0) }
            let hash = UInt64(contents[stream].count) &* 0x9E37_79B9_7F4A_7C15
            withUnsafeBytes(of: hash) { contents[stream].append(contentsOf: $0) }
        }
        for (file, data) in zip(files, contents) { try data.write(to: URL(fileURLWithPath: file.path)) }
    }

    /// Returns a shell script that inserts the files one after the other, with an insert for each.
    func script(for server: BenchClickHouse) -> String {
        files.map { file in
            "clickhouse-client --port \(server.clientPort) --query "
                + "'INSERT INTO lockstep.\(file.table) FORMAT RowBinary' <'\(file.path)'"
        }.joined(separator: " && ")
    }
}
