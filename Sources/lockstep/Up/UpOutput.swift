import Glibc
import LockstepCommandLine

/// The standard output of `lockstep up`. It neither ends nor blocks the command: when its reader has ended or does not read,
/// when the terminal is closed or the disk is full, the system runs on, and what cannot be written is left out.
final class UpOutput {
    private let descriptor: Int32
    private let isTerminal: Bool
    /// Whether the output ends within a line, because the rest was left out.
    private var isInLine = false
    /// Whether the last text had no room: the next one does not wait.
    private var isBlocked = false
    /// A pipe with any room takes this number of bytes without blocking.
    private static let partSize = 4096

    init(descriptor: Int32 = STDOUT_FILENO) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Writes a text that ends with a line feed, on a terminal with ``Terminal/escaped(_:)``.
    /// - Parameter patience: how long to wait for a reader; nil for a time that does not hold up the supervision.
    func write(_ text: String, within patience: Duration? = nil) {
        let shown = isTerminal ? Terminal.escaped(text) : text
        let bytes = Array(((isInLine ? "\n" : "") + shown).utf8)
        let deadline = ContinuousClock.now + (patience ?? (isBlocked ? .zero : .milliseconds(500)))
        var offset = 0
        while offset < bytes.count, waitForRoom(until: deadline) {
            let part = bytes[offset..<min(offset + Self.partSize, bytes.count)]
            let count = part.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                offset += count
                continue
            }
            let mayRepeat = errno == EINTR || errno == EAGAIN
            guard mayRepeat, ContinuousClock.now < deadline else { break }
        }
        if let last = bytes[..<offset].last { isInLine = last != UInt8(ascii: "\n") }
    }

    private func waitForRoom(until deadline: ContinuousClock.Instant) -> Bool {
        while true {
            let remaining = ContinuousClock.now.duration(to: deadline)
            let milliseconds = remaining <= .zero ? 0 : min(remaining / .milliseconds(1) + 1, 60_000)
            var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let count = poll(&polled, 1, Int32(milliseconds))
            if count < 0, errno == EINTR { continue }
            isBlocked = count == 0
            return count > 0
        }
    }
}
