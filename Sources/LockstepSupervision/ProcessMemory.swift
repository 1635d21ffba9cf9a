import Glibc

/// How much memory this process has resident, now and at most, in bytes.
public struct ProcessMemory: Hashable, Sendable {
    public var current: Int
    public var peak: Int

    public init(current: Int, peak: Int) {
        self.current = current
        self.peak = peak
    }

    /// What the kernel says; nil where it does not.
    public static func now() -> ProcessMemory? {
        guard let file = fopen("/proc/self/status", "re") else { return nil }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 4096)
        let count = fread(&text, 1, text.count, file)
        return ProcessMemory(status: String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self))
    }

    /// Reads `/proc/…/status`. The peak is the one of this program: that of `getrusage` begins with whoever started it.
    init?(status: String) {
        func bytes(_ name: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
        }
        guard let current = bytes("VmRSS:"), let peak = bytes("VmHWM:") else { return nil }
        self.init(current: current, peak: peak)
    }
}
