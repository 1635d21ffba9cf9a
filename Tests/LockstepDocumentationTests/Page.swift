import Foundation

/// A Markdown page of the checkout.
struct Page {
    /// A fenced code block: ```` ```LANGUAGE ARGUMENT… ````.
    struct Block {
        let language: String
        let arguments: [String]
        let lines: [String]
        /// The line of the opening fence, from 1.
        let line: Int

        var text: String { lines.joined(separator: "\n") }
    }

    /// A table, with the heading above it.
    struct Table {
        let heading: String
        let header: [String]
        let rows: [[String]]
    }

    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private(set) var blocks: [Block] = []
    private(set) var tables: [Table] = []

    /// Reads the page at a path relative to the checkout.
    init(_ path: String) throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        let lines = text.components(separatedBy: "\n")
        var heading = ""
        var index = 0
        while index < lines.count {
            let line = lines[index]
            index += 1
            if line.hasPrefix("#") {
                heading = String(line.drop { $0 == "#" || $0 == " " })
            } else if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
                let words = line.trimmingCharacters(in: .whitespaces).dropFirst(3).split(separator: " ").map(
                    String.init)
                let start = index
                while index < lines.count, lines[index].trimmingCharacters(in: .whitespaces) != "```" { index += 1 }
                blocks.append(
                    Block(
                        language: words.first ?? "", arguments: Array(words.dropFirst()),
                        lines: Array(lines[start..<min(index, lines.count)]), line: start))
                index += 1
            } else if line.hasPrefix("|") {
                var rows = [Self.cells(line)]
                while index < lines.count, lines[index].hasPrefix("|") {
                    rows.append(Self.cells(lines[index]))
                    index += 1
                }
                tables.append(Table(heading: heading, header: rows[0], rows: Array(rows.dropFirst(2))))
            }
        }
    }

    private static func cells(_ line: String) -> [String] {
        line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }
}
