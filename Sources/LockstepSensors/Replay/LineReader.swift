import Glibc

/// Reads a file line by line, or in pieces that end with another byte, with a buffer of bounded size; or bytes at any
/// offset. Owns the file descriptor.
struct LineReader: ~Copyable {
    /// The longest line of a recording, in bytes.
    static let maxLineLength = 65_536

    let file: String
    /// The number of the last line read, from 1.
    private(set) var line = 0

    /// The byte at the end of each piece.
    private let delimiter: UInt8
    private let descriptor: Int32
    /// The file offset of the next read.
    private var offset = 0
    private var buffer: [UInt8] = []
    /// The start of the next line in `buffer`.
    private var position = 0
    /// Whether the end of the file has been read.
    private var isRead = false

    /// Opens a regular file.
    /// - Throws: ``ReplayError`` if the file cannot be opened or is not a regular file.
    init(file: String, delimiter: UInt8 = UInt8(ascii: "\n")) throws(ReplayError) {
        self.init(file: file, delimiter: delimiter, descriptor: try Self.openFile(file))
    }

    /// Does not throw: Swift 6.2.3 compiles a throwing initializer of a noncopyable structure wrongly, so that optimized
    /// programs crash.
    private init(file: String, delimiter: UInt8, descriptor: Int32) {
        self.file = file
        self.delimiter = delimiter
        self.descriptor = descriptor
    }

    private static func openFile(_ file: String) throws(ReplayError) -> Int32 {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            let advice = errno == ENOENT ? ": check the path" : errno == EACCES ? ": you may not read it" : ""
            throw ReplayError(file: file, line: nil, reason: String(cString: strerror(errno)) + advice)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            throw ReplayError(
                file: file, line: nil, reason: isFolder ? "this is a folder: name a file in it" : "not a regular file")
        }
        return descriptor
    }

    deinit { close(descriptor) }

    /// Returns the next line without its line end (LF or CR LF), and the first line also without a byte order mark; nil
    /// after the last line.
    mutating func next() throws(ReplayError) -> ArraySlice<UInt8>? {
        while true {
            if let end = buffer[position...].firstIndex(of: delimiter) { return take(to: end) }
            if isRead { return position < buffer.count ? take(to: buffer.count) : nil }
            guard buffer.count - position < Self.maxLineLength else {
                throw ReplayError(
                    file: file, line: line + 1,
                    reason: "longer than \(Self.maxLineLength) bytes, so the file is not CSV, NDJSON, GPX or MCAP")
            }
            try fill()
        }
    }

    /// Returns the first bytes of the file, at most `count`.
    func start(_ count: Int) throws(ReplayError) -> ArraySlice<UInt8> { try read(at: 0).prefix(count) }

    /// Returns the bytes from an offset on, without changing the position of ``next()``; fewer than `count` at the end of
    /// the file.
    func bytes(at offset: Int, count: Int) throws(ReplayError) -> ArraySlice<UInt8> {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let piece = try read(at: offset + bytes.count, count: count - bytes.count)
            if piece.isEmpty { break }
            bytes += piece
        }
        return bytes[...]
    }

    /// Returns the size of the file, in bytes.
    func size() throws(ReplayError) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure() }
        return Int(status.st_size)
    }

    /// Returns whether only blank lines follow.
    mutating func isAtEnd() throws(ReplayError) -> Bool {
        while !isRead, buffer[position...].allSatisfy(isBlank) { try fill() }
        return buffer[position...].allSatisfy(isBlank)
    }

    /// Returns the last line that is not blank, without changing the position of ``next()``.
    func last() throws(ReplayError) -> ArraySlice<UInt8>? {
        var tail: [UInt8] = []
        var place = max(0, try size() - Self.maxLineLength)
        while true {
            let piece = try read(at: place)
            if piece.isEmpty { break }
            place += piece.count
            tail += piece
        }
        let end = tail.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? 0
        let start = tail[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        return start < end ? tail[start..<end] : nil
    }

    private mutating func take(to end: Int) -> ArraySlice<UInt8> {
        var found = buffer[position..<end]
        position = min(end + 1, buffer.count)
        let isFirst = line == 0
        line += delimiter == UInt8(ascii: "\n") ? 1 : found.count { $0 == UInt8(ascii: "\n") } + (isFirst ? 1 : 0)
        if found.last == UInt8(ascii: "\r") { found.removeLast() }
        if isFirst, found.starts(with: [0xEF, 0xBB, 0xBF]) { found.removeFirst(3) }
        return found
    }

    private mutating func fill() throws(ReplayError) {
        buffer.removeFirst(position)
        position = 0
        let piece = try read(at: offset)
        offset += piece.count
        buffer += piece
        isRead = piece.isEmpty
    }

    private func read(at offset: Int, count: Int = maxLineLength) throws(ReplayError) -> [UInt8] {
        var result = 0
        let piece = [UInt8](unsafeUninitializedCapacity: min(count, 1 << 20)) { bytes, count in
            repeat {
                result = pread(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
            } while result < 0 && errno == EINTR
            count = max(0, result)
        }
        if result < 0 { throw failure() }
        return piece
    }

    private func failure() -> ReplayError {
        ReplayError(file: file, line: nil, reason: String(cString: strerror(errno)))
    }
}

/// Returns whether a byte is whitespace or a control character.
func isBlank(_ byte: UInt8) -> Bool { byte <= UInt8(ascii: " ") }
