/// Rows of text in aligned columns.
public struct Table: Sendable {
    public struct Cell: Sendable, ExpressibleByStringLiteral {
        public var text: String
        public var style: Terminal.Style

        public init(_ text: String, _ style: Terminal.Style = .plain) {
            self.text = text
            self.style = style
        }

        public init(stringLiteral text: String) { self.init(text) }
    }

    public struct Column: Sendable {
        public var title: String
        public var isRightAligned: Bool

        public init(_ title: String, isRightAligned: Bool = false) {
            self.title = title
            self.isRightAligned = isRightAligned
        }
    }

    public var columns: [Column]
    public var rows: [[Cell]] = []

    public init(_ columns: [Column]) { self.columns = columns }

    /// The lines, title first; only columns but the last are padded.
    ///
    /// A row may be shorter than the title.
    public func lines(for terminal: Terminal) -> [String] {
        let widths = columns.indices.map { column in
            rows.reduce(columns[column].title.count) { max($0, column < $1.count ? $1[column].text.count : 0) }
        }
        let title = columns.map { Cell($0.title, .faint) }
        return ([title] + rows).map { row in
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
