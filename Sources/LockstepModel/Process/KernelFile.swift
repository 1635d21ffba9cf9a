import Glibc

/// The small files of the kernel, such as those in `/proc` and `/sys`.
package enum KernelFile {
    /// Returns the text of a file, or nil if it cannot be read.
    package static func text(_ path: String) -> String? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { text += buffer[..<count] }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the first line of a file, or nil if it is empty or cannot be read.
    package static func firstLine(_ path: String) -> String? {
        text(path).map { String($0.prefix { $0 != "\n" }) }.flatMap { $0.isEmpty ? nil : $0 }
    }
}
