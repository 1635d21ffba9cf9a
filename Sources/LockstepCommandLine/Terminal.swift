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

    /// Writes a text to standard output.
    public func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes all bytes to standard output.
    ///
    /// If the reader has closed the pipe, the process exits with status 0, as usual for filters. After any other error,
    /// it writes the error to standard error and exits with status 1.
    public func write(_ bytes: [UInt8]) {
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

    /// Writes a line to standard error.
    public static func writeError(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

extension String {
    /// The text with each control character replaced by U+FFFD.
    ///
    /// Use it for text from the network: it must not control the terminal or break a line.
    public var printable: String {
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        guard unicodeScalars.contains(where: isControl) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }
}
