/// A table of text with aligned columns.
///
/// It is our own because TextTable imports all of Foundation and counts colour codes as visible characters.
public struct Table: Sendable {
    /// A text with its style.
    public struct Cell: Sendable, ExpressibleByStringLiteral {
        public var text: String
        public var style: Terminal.Style

        /// Makes a cell.
        public init(_ text: String, _ style: Terminal.Style = .plain) {
            self.text = text
            self.style = style
        }

        public init(stringLiteral text: String) { self.init(text) }
    }

    /// A column's title and alignment.
    public struct Column: Sendable {
        public var title: String
        public var isRightAligned: Bool

        /// Makes a column. Numbers are right-aligned; a unit follows the title in parentheses: `DISTANCE (m)`.
        public init(_ title: String, isRightAligned: Bool = false) {
            self.title = title
            self.isRightAligned = isRightAligned
        }
    }

    public var columns: [Column]
    /// The rows; a row may have fewer cells than there are columns.
    public var rows: [[Cell]] = []

    /// Makes a table without rows.
    public init(_ columns: [Column]) { self.columns = columns }

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
