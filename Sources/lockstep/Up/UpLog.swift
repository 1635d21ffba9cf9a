import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSystem
import LockstepWire

/// The log of `lockstep up`: the lines of all parts with their names, and what the command itself does.
struct UpLog {
    let isJSON: Bool
    let terminal: Terminal
    private let write: (String) -> Void
    private static let width = 9

    init(isJSON: Bool, terminal: Terminal = .output, write: @escaping (String) -> Void) {
        self.isJSON = isJSON
        self.terminal = terminal
        self.write = write
    }

    /// Writes what happens to a part.
    func show(_ name: String, _ report: LocalSystem.Report) {
        switch report {
        case .line(let line): self.line(line, of: name)
        case .started: break
        case .ready: event(name, "is ready")
        case .late(let status):
            event(name, "is not ready yet" + (status.isEmpty ? "" : ": \(status)"), style: .yellow)
        case .ended(let end, let delay):
            event(name, "ended unexpectedly (\(end)); starting it again in \(Self.seconds(delay))", style: .red)
        case .failed(let reason, let delay):
            event(name, "\(reason); trying again in \(Self.seconds(delay))", style: .red)
        case .killed(isRequested: true): event(name, "was killed, as a second signal asked", style: .red)
        case .killed(isRequested: false): event(name, "did not stop after SIGTERM and was killed", style: .red)
        case .endedWithError(let end): event(name, "did not stop cleanly: \(end)", style: .red)
        }
    }

    /// Writes a line of a part.
    func line(_ line: String, of name: String) {
        guard isJSON else { return write(prefix(name, .faint) + line.printable + "\n") }
        if line.hasPrefix("{"), case .object(let members)? = try? JSONParser.parse(Array(line.utf8)),
            !members.isEmpty
        {
            var object = JSONObjectWriter()
            object.member("part", name)
            let start = String(decoding: object.finish(), as: UTF8.self).dropLast()
            return write("\(start),\(line.dropFirst())\n")
        }
        var object = JSONObjectWriter()
        object.member("part", name)
        object.member("text", line)
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    /// Writes what the command itself does: to a part, or to the whole system.
    func event(_ name: String = "", _ text: String, style: Terminal.Style = .bold) {
        guard isJSON else {
            let subject = name.isEmpty ? text : "\(name) \(text)"
            return write(prefix("up", style) + terminal.styled(subject, style) + "\n")
        }
        var object = JSONObjectWriter()
        object.member("part", "up")
        object.member("time", Moment.now().wall.iso8601Milliseconds)
        if !name.isEmpty { object.member("about", name) }
        object.member("event", text)
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    /// Writes the addresses of a system that is ready.
    func ready(_ addresses: [(name: String, text: String)]) {
        guard isJSON else {
            let width = addresses.map(\.name.count).max() ?? 0
            let lines = addresses.map { name, text in
                "  " + terminal.styled(name + String(repeating: " ", count: width - name.count), .bold) + "  \(text)\n"
            }
            return write("\n" + lines.joined() + "\n")
        }
        var object = JSONObjectWriter()
        object.member("part", "up")
        object.member("event", "ready")
        for (name, text) in addresses { object.member(name.replacing(" ", with: "_"), text) }
        write(String(decoding: object.finish(), as: UTF8.self) + "\n")
    }

    private func prefix(_ name: String, _ style: Terminal.Style) -> String {
        terminal.styled(name + String(repeating: " ", count: max(0, Self.width - name.count)) + " │ ", style)
    }

    private static func seconds(_ delay: Duration) -> String {
        "\((delay / .milliseconds(100)).rounded() / 10) s"
    }
}

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
