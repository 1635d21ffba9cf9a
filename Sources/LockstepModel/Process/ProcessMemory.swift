/// The resident memory of this process, in bytes.
public struct ProcessMemory: Hashable, Sendable {
    /// The current size, in bytes.
    public var current: Int
    /// The maximum size since the program started, in bytes.
    public var peak: Int

    /// Creates a value from its parts, in bytes.
    public init(current: Int, peak: Int) {
        self.current = current
        self.peak = peak
    }

    /// Returns the memory as reported by the kernel, or nil if `/proc` is not available.
    public static func now() -> ProcessMemory? {
        KernelFile.text("/proc/self/status").flatMap { ProcessMemory(status: $0) }
    }

    /// Parses the text of `/proc/…/status`, or returns nil if it has no memory sizes.
    ///
    /// Its peak covers only this program. The peak of `getrusage` also covers the process before `exec`.
    init?(status: String) {
        func bytes(_ name: String) -> Int? {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
        }
        guard let current = bytes("VmRSS:"), let peak = bytes("VmHWM:") else { return nil }
        self.init(current: current, peak: peak)
    }
}
