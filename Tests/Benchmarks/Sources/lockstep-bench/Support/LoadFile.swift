import Foundation
import LockstepModel

/// A buffered writer of a load file.
final class LoadFile {
    private let handle: FileHandle
    private var buffer = Data()

    init(_ path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw Failure("cannot write \(path)") }
        self.handle = handle
    }

    /// Appends a record for `publish-load`.
    func add(topic: String, payload: [UInt8]) {
        append(UInt16(topic.utf8.count))
        append(UInt32(payload.count))
        buffer.append(contentsOf: topic.utf8)
        buffer.append(contentsOf: payload)
        flush(above: 1 << 20)
    }

    /// Appends a record for `publish-paced`: a message that is due `due` µs after the start.
    func add(due: Int64, device: Int, topic: String, payload: [UInt8]) {
        append(due)
        append(UInt32(device))
        add(topic: topic, payload: payload)
    }

    /// Appends a row for `insert-rows` or `append-rows` for each sample of a stream with three columns.
    func add(_ block: SampleBlock, device: Int32, stream: Int32) {
        for index in block.times.indices {
            append(device)
            append(stream)
            append(block.times[index])
            for column in block.columns { append(column[index]) }
        }
        flush(above: 1 << 20)
    }

    func close() throws {
        flush(above: 0)
        try handle.close()
    }

    private func append(_ value: some BitwiseCopyable) {
        withUnsafeBytes(of: value) { buffer.append(contentsOf: $0) }
    }

    private func flush(above limit: Int) {
        guard buffer.count > limit else { return }
        handle.write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }
}
