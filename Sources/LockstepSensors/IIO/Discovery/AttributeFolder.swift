import Glibc

/// A folder of sysfs attributes: short texts that are read and written as a whole.
package struct AttributeFolder: Sendable, Hashable {
    package let path: String

    package init(_ path: String) { self.path = path }

    /// The last component of the path.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }

    /// The path of an attribute.
    package subscript(name: String) -> String { "\(path)/\(name)" }

    /// Returns whether an attribute exists.
    package func contains(_ name: String) -> Bool { access(self[name], F_OK) == 0 }

    /// Returns the text of an attribute without surrounding whitespace; nil if it cannot be read.
    package func text(_ name: String) -> String? { try? read(name) }

    /// Returns the text of an attribute without surrounding whitespace.
    /// - Throws: ``IIOError`` that names the file.
    package func read(_ name: String) throws(IIOError) -> String {
        try AttributeFile(self[name]).text()
    }

    /// Replaces the text of an attribute.
    /// - Throws: ``IIOError`` that names the file.
    package func write(_ name: String, _ text: String) throws(IIOError) {
        // sysfs ignores O_TRUNC, but the plain files of tests need it.
        let descriptor = open(self[name], O_WRONLY | O_CLOEXEC | O_TRUNC)
        guard descriptor >= 0 else { throw IIOError(path: self[name], errno: errno) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        guard Glibc.write(descriptor, bytes, bytes.count) == bytes.count else {
            throw IIOError(path: self[name], errno: errno)
        }
    }

    /// Returns the error of opening an attribute for `mode` (`R_OK` or `W_OK`); nil if it can be opened.
    package func refusal(_ name: String, _ mode: Int32) -> IIOError? {
        access(self[name], mode) == 0 ? nil : IIOError(path: self[name], errno: errno)
    }

    /// The names of the folder's entries; empty if it cannot be read.
    package var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns the entries whose names consist of `prefix` and a number, sorted by number.
    package func numbered(_ prefix: String) -> [(number: Int, name: String)] {
        names.compactMap { name in
            guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), number >= 0 else {
                return nil
            }
            return (number, name)
        }.sorted { $0.number < $1.number }
    }
}

/// An attribute that stays open for repeated reading. The descriptor is closed when the object is deallocated.
final class AttributeFile: Sendable {
    private let path: String
    private let descriptor: Int32

    /// - Throws: ``IIOError`` that names the file.
    init(_ path: String) throws(IIOError) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw IIOError(path: path, errno: errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Returns the current text without surrounding whitespace.
    /// - Throws: ``IIOError`` that names the file.
    func text() throws(IIOError) -> String {
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
            let count = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            code = count < 0 ? errno : 0
            filled = max(0, count)
        }
        guard code == 0 else { throw IIOError(path: path, errno: code) }
        let isSpace = { (byte: UInt8) in byte <= UInt8(ascii: " ") }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }),
            let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }

    /// - Throws: ``IIOError`` that names the file, also if its text is not a number.
    func number() throws(IIOError) -> Double {
        let text = try text()
        guard let number = Double(text), number.isFinite else {
            throw IIOError(text.isEmpty ? "the sensor is gone: \(path) is empty" : "\(path): '\(text)' is not a number")
        }
        return number
    }
}

/// The attributes that hold the value of each channel of a quantity, for polling.
struct ChannelFiles {
    /// Whether the values are in the kernel's unit already: `in_accel_x_input`.
    let isProcessed: Bool
    /// One file name per channel.
    let files: [String]
    /// Whether at least one channel has a file.
    let hasAnyChannel: Bool
    let isComplete: Bool

    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        func files(_ kind: String) -> [String] { quantity.channels.map { "in_\($0)_\(kind)" } }
        let raw = files("raw")
        let processed = files("input")
        let isRaw = raw.contains(where: folder.contains)
        isProcessed = !isRaw && processed.contains(where: folder.contains)
        self.files = isProcessed ? processed : raw
        hasAnyChannel = isRaw || isProcessed
        isComplete = self.files.allSatisfy(folder.contains)
    }
}

/// The scan elements of a quantity in a buffer.
struct ScanElements {
    /// Whether at least one channel is in the buffer.
    let hasAnyChannel: Bool
    /// Whether every channel is in the buffer.
    let isComplete: Bool
    /// The type of the first channel; nil if it is unknown. The other channels have the same range.
    let type: ScanType?

    /// - Parameter folder: The folder of the buffer's scan elements.
    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        let elements = quantity.channels.map { "in_\($0)" }
        hasAnyChannel = elements.contains { folder.contains($0 + "_en") }
        let types = elements.map { folder.text($0 + "_type").flatMap { ScanType($0) } }
        type = types[0]
        isComplete =
            types.allSatisfy { $0 != nil }
            && elements.allSatisfy { folder.contains($0 + "_en") && folder.contains($0 + "_index") }
    }
}
