import LockstepCommandLine
import Testing

@Suite("Table")
struct TableTests {
    private let plain = Terminal(isInteractive: false, hasColours: false)
    private let coloured = Terminal(isInteractive: true, hasColours: true)

    @Test("characters that control a terminal or the direction of text are escaped, and styles are kept")
    func escapes() {
        #expect(Terminal.escaped("a\u{202E}b\u{2066}\u{7}\r\u{9B}2J") == #"a\u202eb\u2066\u0007\u000d\u009b2J"#)
        #expect(Terminal.escaped("\u{1B}[2J\u{1B}]0;x\u{7}") == #"\u001b[2J\u001b]0;x\u0007"#)
        let styled = coloured.styled("µT→ 👩‍🔧\tx", .red) + "\n"
        #expect(Terminal.escaped(styled) == styled)
        #expect("a\u{202E}b\u{1B}\u{2028}".printable == "a\u{FFFD}b\u{FFFD}\u{FFFD}" && "👩‍🔧é".printable == "👩‍🔧é")
    }

    @Test("columns are as wide as their widest cell, and lines have no trailing spaces")
    func alignment() {
        var table = Table([.init("DEVICE"), .init("SAMPLES", isRightAligned: true), .init("STATE")])
        table.rows = [["lab/pi-kitchen", "7", "active"], ["a", "1234567890", "background"]]
        #expect(
            table.lines(for: plain) == [
                "DEVICE             SAMPLES  STATE",
                "lab/pi-kitchen           7  active",
                "a               1234567890  background",
            ])
    }

    @Test("the last column can be right-aligned")
    func numbersLast() {
        var table = Table([.init("A"), .init("N", isRightAligned: true)])
        table.rows = [["x", "1"], ["y", "100"]]
        #expect(table.lines(for: plain) == ["A    N", "x    1", "y  100"])
    }

    @Test("a table without rows has only its titles")
    func empty() {
        #expect(Table([.init("A"), .init("B")]).lines(for: plain) == ["A  B"])
    }

    @Test("widths count characters, not bytes or colour codes")
    func colours() {
        var table = Table([.init("A"), .init("B")])
        table.rows = [[.init("µT→", .green), "x"], ["äöüß", .init("y", .red)]]
        #expect(
            table.lines(for: coloured) == [
                "\u{1B}[2mA\u{1B}[0m     \u{1B}[2mB\u{1B}[0m",
                "\u{1B}[32mµT→\u{1B}[0m   x",
                "äöüß  \u{1B}[31my\u{1B}[0m",
            ])
        #expect(table.lines(for: plain) == ["A     B", "µT→   x", "äöüß  y"])
    }

    @Test("a row may have fewer cells than columns")
    func shortRow() {
        var table = Table([.init("A"), .init("B")])
        table.rows = [["only"], []]
        #expect(table.lines(for: plain) == ["A     B", "only", ""])
    }
}
