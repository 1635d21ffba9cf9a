import FoundationEssentials
import Glibc

/// What standard output is, and how to write to it.
public struct Terminal: Sendable {
    public enum Style: String, Sendable {
        case plain = "0"
        case bold = "1"
        case faint = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
    }

    /// Whether a person looks on: colours, and lines that are written over.
    public let isInteractive: Bool
    private let hasColours: Bool

    /// Standard output, as it is. `NO_COLOR` (see no-color.org) turns colours off, `TERM=dumb` lines written over too.
    public static let output: Terminal = {
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
        return Terminal(
            isInteractive: isTerminal, hasColours: isTerminal && environment["NO_COLOR", default: ""].isEmpty)
    }()

    public init(isInteractive: Bool, hasColours: Bool) {
        self.isInteractive = isInteractive
        self.hasColours = hasColours
    }

    /// Columns and rows of the screen; 80 by 24 where there is none.
    public var size: (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    public func styled(_ text: String, _ style: Style) -> String {
        hasColours && style != .plain ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
    }

    public func write(_ text: String) { write(Array(text.utf8)) }

    /// Writes everything, at once. Ends the program quietly when nobody reads any more, as a filter does, and with a
    /// word on standard error when there is no room for it.
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
                // Another program made the shared terminal or pipe non-blocking.
                var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            case EPIPE: exit(0)
            case let code:
                Terminal.complain("the output can't be written: \(String(cString: strerror(code)))")
                exit(1)
            }
        }
    }

    /// Says something on standard error.
    public static func complain(_ text: String) {
        let bytes = Array((text + "\n").utf8)
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}

extension String {
    /// The text without control characters: what comes from elsewhere must not steer a terminal, nor break a line.
    public var printable: String {
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        guard unicodeScalars.contains(where: isControl) else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }))
    }
}
