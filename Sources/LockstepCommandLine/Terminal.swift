// With glibc 2.40 and newer, <sys/epoll.h> defines winsize.
import CLinux
import FoundationEssentials
import Glibc

/// An output of the program, and whether it supports colours and cursor movement.
///
/// Implemented here because the package Rainbow has no screen size, does not write, and imports all of Foundation.
public struct Terminal: Sendable {
    /// A colour or weight; the raw value is its ANSI escape code.
    public enum Style: String, Sendable {
        case plain = "0"
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
    }

    /// Whether the output is a terminal on which lines can be overwritten.
    public let isInteractive: Bool
    private let hasColours: Bool

    /// Standard output. `NO_COLOR` (see no-color.org) disables colours; `TERM=dumb` also disables overwriting.
    public static let output = Terminal(descriptor: STDOUT_FILENO)
    /// Standard error, with the same rules.
    public static let error = Terminal(descriptor: STDERR_FILENO)

    private init(descriptor: Int32) {
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = isatty(descriptor) == 1 && environment["TERM"] != "dumb"
        self.init(isInteractive: isTerminal, hasColours: isTerminal && environment["NO_COLOR", default: ""].isEmpty)
    }

    /// Creates a terminal with these capabilities.
    public init(isInteractive: Bool, hasColours: Bool) {
        self.isInteractive = isInteractive
        self.hasColours = hasColours
    }

    /// The size of the terminal on standard output; 80 columns by 24 rows if it is unknown.
    public var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 else { return (80, 24) }
        // Serial consoles and some pseudo-terminals report zero.
        return (size.ws_col > 0 ? Int(size.ws_col) : 80, size.ws_row > 0 ? Int(size.ws_row) : 24)
    }

    /// Returns the text in this style, or unchanged if the terminal has no colours.
    public func styled(_ text: String, _ style: Style) -> String {
        hasColours && style != .plain ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// Writes a text to standard output, as ``write(_:)-([UInt8])`` does.
    public func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes all bytes, which are text, to standard output: exactly into a pipe or a file, and with ``escaped(_:)`` on a
    /// terminal, where text from the network could otherwise move the cursor or reverse a line.
    ///
    /// If the reader has closed the pipe, the process exits with status 0, as usual for filters. After any other error,
    /// it writes the error to standard error and exits with status 1.
    public func write(_ bytes: [UInt8]) {
        guard isatty(STDOUT_FILENO) == 1 else { return writeControl(bytes) }
        writeControl(Array(Self.escaped(String(decoding: bytes, as: UTF8.self)).utf8))
    }

    /// Writes bytes unchanged to standard output, also control sequences. Text from the network must be escaped before.
    public func writeControl(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count >= 0 {
                offset += count
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // Another process made the shared terminal or pipe non-blocking.
                var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            case EPIPE: endProgram(0)
            case let code:
                Terminal.writeError("cannot write to standard output: \(String(cString: strerror(code)))")
                endProgram(1)
            }
        }
    }

    /// Returns the text with escapes such as `\u202e` for all characters that control a terminal or the direction of text,
    /// except for line feeds, tabs and the codes of colours and weights.
    public static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: \.controlsTerminal) else { return text }
        var result = String.UnicodeScalarView()
        var rest = Substring(text).unicodeScalars
        while let scalar = rest.popFirst() {
            if scalar == "\n" || scalar == "\t" || !scalar.controlsTerminal {
                result.append(scalar)
            } else if scalar == "\u{1B}", let style = styleCode(rest) {
                result.append(scalar)
                result.append(contentsOf: style)
                rest.removeFirst(style.count)
            } else {
                let digits = String(scalar.value, radix: 16)
                result.append(
                    contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".unicodeScalars)
            }
        }
        return String(result)
    }

    /// Returns the rest of the code of a colour or weight, such as `[31m`, at the start of a text; nil if there is none.
    private static func styleCode(_ text: Substring.UnicodeScalarView) -> Substring.UnicodeScalarView? {
        guard text.first == "[", let end = text.firstIndex(of: "m"),
            text[text.index(after: text.startIndex)..<end].allSatisfy({ ("0"..."9").contains($0) || $0 == ";" })
        else { return nil }
        return text[...end]
    }

    /// Writes a line to standard error, with ``escaped(_:)`` on a terminal.
    public static func writeError(_ text: String) {
        let bytes = Array(((isatty(STDERR_FILENO) == 1 ? escaped(text) : text) + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

extension String {
    /// The text with each character that controls a terminal or the direction of text replaced by U+FFFD.
    ///
    /// Use it for text from the network: it must not control the terminal or break a line.
    public var printable: String {
        guard unicodeScalars.contains(where: \.controlsTerminal) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { $0.controlsTerminal ? "\u{FFFD}" : $0 }))
    }
}

extension Unicode.Scalar {
    /// Whether a terminal obeys the character instead of showing it: control characters, marks, embeddings, overrides and
    /// isolates of the direction of text, and separators of lines and paragraphs.
    fileprivate var controlsTerminal: Bool {
        switch value {
        case 0x20..<0x7F, 0xA0..<0x61C: false
        case 0x00..<0x20, 0x7F..<0xA0, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}

/// A line on standard error that shows progress, only on a terminal.
public struct ProgressLine {
    /// Whether there is a terminal for it.
    public let isShown: Bool
    private var last: ContinuousClock.Instant?

    /// - Parameter isShown: false if the terminal has other output.
    public init(isShown: Bool = true) { self.isShown = isShown && Terminal.error.isInteractive }

    /// Shows or replaces the line, at most ten times a second.
    public mutating func show(_ text: @autoclosure () -> String) {
        let now = ContinuousClock.now
        guard isShown, last.map({ now - $0 >= .milliseconds(100) }) ?? true else { return }
        last = now
        write(text())
    }

    /// Removes the line.
    public mutating func end() {
        if last != nil { write("") }
        last = nil
    }

    private func write(_ text: String) {
        let bytes = Array("\r\u{1B}[K\(text)".utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

/// Returns a part of a whole as a percentage of five characters: ` 45 %`.
public func percentage(_ fraction: Double) -> String {
    let percent = String(Int(min(max(fraction, 0), 1) * 100))
    return String(repeating: " ", count: 3 - percent.count) + percent + " %"
}
