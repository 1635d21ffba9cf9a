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

    /// Standard output, as it is. `NO_COLOR` (see no-color.org) and `TERM=dumb` turn colours off.
    public static let output: Terminal = {
        let environment = ProcessInfo.processInfo.environment
        let isTerminal = isatty(STDOUT_FILENO) == 1
        return Terminal(
            isInteractive: isTerminal,
            hasColours: isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb")
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

    /// Writes everything, at once. Ends the program quietly when nobody reads any more, as a filter does.
    public func write(_ bytes: [UInt8]) {
        var offset = 0
        while offset < bytes.count {
            let count = bytes[offset...].withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                exit(errno == EPIPE ? 0 : 1)
            }
            offset += count
        }
    }
}
