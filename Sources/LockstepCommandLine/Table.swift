/// A table of text with aligned columns.
///
/// Implemented here because the package TextTable imports all of Foundation and counts colour codes as visible
/// characters.
public struct Table: Sendable {
    /// The text of a cell and its style.
    public struct Cell: Sendable, ExpressibleByStringInterpolation {
        /// The text, without colour codes.
        public var text: String
        /// The colour or weight on a terminal.
        public var style: Terminal.Style

        /// Creates a cell.
        public init(_ text: String, _ style: Terminal.Style = .plain) {
            self.text = text
            self.style = style
        }

        /// Creates a cell with the plain style.
        public init(stringLiteral text: String) { self.init(text) }
    }

    /// A column's title and alignment.
    public struct Column: Sendable, ExpressibleByStringLiteral {
        /// The text of the header.
        public var title: String
        /// Whether header and cells are right-aligned.
        public var isRightAligned: Bool

        /// Creates a column. By convention, numbers are right-aligned, and a unit follows the title: `DISTANCE (m)`.
        public init(_ title: String, isRightAligned: Bool = false) {
            self.title = title
            self.isRightAligned = isRightAligned
        }

        /// Creates a left-aligned column.
        public init(stringLiteral title: String) { self.init(title) }

        /// Returns a right-aligned column.
        public static func right(_ title: String) -> Column { Column(title, isRightAligned: true) }
    }

    /// The columns.
    public var columns: [Column]
    /// The rows; a row may have fewer cells than there are columns.
    public var rows: [[Cell]] = []

    /// Creates a table without rows.
    public init(_ columns: [Column]) { self.columns = columns }

    /// Returns the lines of the table as a text.
    public func text(for terminal: Terminal) -> String { lines(for: terminal).map { $0 + "\n" }.joined() }

    /// Returns the lines of the table, titles first. Lines have no trailing spaces.
    public func lines(for terminal: Terminal) -> [String] {
        let widths = columns.indices.map { column in
            rows.reduce(columns[column].title.count) { max($0, column < $1.count ? $1[column].text.count : 0) }
        }
        let titles = columns.map { Cell($0.title, .faint) }
        return ([titles] + rows).map { row in
            var line = ""
            for (index, cell) in row.enumerated() {
                let padding = String(repeating: " ", count: widths[index] - cell.text.count)
                let styled = terminal.styled(cell.text, cell.style)
                if columns[index].isRightAligned {
                    line += padding + styled
                } else {
                    line += index == row.count - 1 ? styled : styled + padding
                }
                if index < row.count - 1 { line += "  " }
            }
            return line
        }
    }
}
