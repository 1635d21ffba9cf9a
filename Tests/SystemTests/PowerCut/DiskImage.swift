import Foundation

/// The files of a database after a power cut, computed from the log of `test-disk.c`.
///
/// Synced changes are there. Of the others, a random part is: pieces of 512 or 4096 bytes in any order, so that a write
/// may be torn. Files are created and removed in order, but only for certain when their folder was synced.
struct DiskImage {
    /// Which unsynced changes survive.
    enum Survivors: CaseIterable {
        case none, few, half, most, all

        var share: Double {
            switch self {
            case .none: 0
            case .few: 0.05
            case .half: 0.5
            case .most: 0.95
            case .all: 1
            }
        }
    }

    private enum Operation: UInt32 {
        case create = 1
        case change, truncation, syncFile, removal, syncFolder
    }

    fileprivate struct File {
        /// What is certain to be on disk.
        var synced: [UInt8] = []
        var pending: [Change] = []

        enum Change {
            case data([UInt8], at: Int)
            case size(Int)
        }

        mutating func sync() {
            for change in pending { synced.apply(change) }
            pending = []
        }
    }

    private static let suffixes = ["", "-wal", "-journal"]

    private var files: [File] = []
    /// By suffix, the file that programs see.
    private var present: [Int?]
    /// By suffix, the file that is certain to be there.
    private var synced: [Int?]
    private var pendingEntries: [(suffix: Int, file: Int?)] = []

    /// The files as they are now, all of them synced.
    /// - Parameter database: its path.
    init(of database: String) {
        present = []
        for suffix in Self.suffixes {
            guard let data = FileManager.default.contents(atPath: database + suffix) else {
                present.append(nil)
                continue
            }
            present.append(files.count)
            files.append(File(synced: Array(data)))
        }
        synced = present
    }

    /// Applies the log of a program that has ended.
    mutating func apply(log path: String) throws {
        let log = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
        var position = log.startIndex
        func number<Number: FixedWidthInteger>(_ offset: Int, _: Number.Type) -> Number {
            log.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: position + offset, as: Number.self) }
        }
        while position + 24 <= log.endIndex {
            guard let operation = Operation(rawValue: number(0, UInt32.self)) else { throw DamagedLogError() }
            let suffix = Int(number(4, UInt32.self))
            let offset = Int(number(8, Int64.self))
            let length = Int(number(16, Int64.self))
            position += 24
            if operation == .syncFolder {
                synced = present
                pendingEntries = []
                continue
            }
            if operation == .create {
                present[suffix] = files.count
                files.append(File())
                pendingEntries.append((suffix, present[suffix]))
                continue
            }
            guard let file = present[suffix] else { throw DamagedLogError() }
            switch operation {
            case .change:
                guard position + length <= log.endIndex else { throw DamagedLogError() }
                files[file].pending.append(.data(Array(log[position..<position + length]), at: offset))
                position += length
            case .truncation: files[file].pending.append(.size(length))
            case .syncFile: files[file].sync()
            case .removal:
                present[suffix] = nil
                pendingEntries.append((suffix, nil))
            case .create, .syncFolder: break
            }
        }
    }

    /// Replaces the files of the database by those that a power cut leaves.
    func write(to database: String, survivors: Survivors, using random: inout some RandomNumberGenerator) throws {
        var entries = synced
        // The journal of a file system keeps the order of creations and removals.
        let kept = Int((Double(pendingEntries.count) * survivors.share).rounded())
        for entry in pendingEntries.prefix(kept) { entries[entry.suffix] = entry.file }
        try? FileManager.default.removeItem(atPath: database + "-shm")
        for (index, suffix) in Self.suffixes.enumerated() {
            let path = database + suffix
            try? FileManager.default.removeItem(atPath: path)
            guard let file = entries[index] else { continue }
            var bytes = files[file].synced
            let piece = Bool.random(using: &random) ? 512 : 4096
            for change in files[file].pending {
                for part in change.pieces(of: piece) where Double.random(in: 0..<1, using: &random) < survivors.share {
                    bytes.apply(part)
                }
            }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }
    }

    struct DamagedLogError: Error {}
}

extension DiskImage.File.Change {
    /// The change in pieces that a disk writes as a whole.
    fileprivate func pieces(of size: Int) -> [Self] {
        guard case .data(let bytes, let offset) = self else { return [self] }
        var parts: [Self] = []
        var start = 0
        while start < bytes.count {
            let end = min(bytes.count, ((offset + start) / size + 1) * size - offset)
            parts.append(.data(Array(bytes[start..<end]), at: offset + start))
            start = end
        }
        return parts
    }
}

extension [UInt8] {
    fileprivate mutating func apply(_ change: DiskImage.File.Change) {
        switch change {
        case .size(let size):
            if size < count {
                removeLast(count - size)
            } else {
                append(contentsOf: repeatElement(0, count: size - count))
            }
        case .data(let bytes, let offset):
            let end = offset + bytes.count
            if end > count { append(contentsOf: repeatElement(0, count: end - count)) }
            replaceSubrange(offset..<end, with: bytes)
        }
    }
}
