import Foundation

/// The bytes that this process has written so far.
struct WrittenBytes {
    /// Bytes passed to system calls.
    let passed: Int64
    /// Bytes of the pages that the kernel wrote for them.
    let disk: Int64

    init() throws {
        var values: [Substring: Int64] = [:]
        for line in try String(contentsOfFile: "/proc/self/io", encoding: .utf8).split(separator: "\n") {
            let parts = line.split(separator: " ")
            values[parts[0]] = parts.last.flatMap { Int64($0) }
        }
        guard let passed = values["wchar:"], let disk = values["write_bytes:"] else {
            throw Failure("/proc/self/io has no number of written bytes")
        }
        self.passed = passed
        self.disk = disk
    }

    func ratios(since earlier: WrittenBytes, to bytes: Int64) -> [Double] {
        [passed - earlier.passed, disk - earlier.disk].map { Double($0) / Double(bytes) }
    }
}
