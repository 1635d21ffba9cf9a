import LockstepCommandLine
import Testing

@Suite("YAMLNode")
struct YAMLNodeTests {
    @Test("scalars keep their text, sequences and mappings their order, and nodes have line numbers")
    func contents() throws {
        let root = try #require(try YAMLNode.read("# first\nb: 007\na:\n  - 'it''s'\n  - {c: ~}\n"))
        guard case .mapping(let pairs) = root.content else {
            Issue.record("not a mapping: \(root)")
            return
        }
        #expect(pairs.map(\.key.scalar) == ["b", "a"])
        #expect(pairs.map(\.key.line) == [2, 3])
        #expect(pairs[0].value.scalar == "007")
        guard case .sequence(let items) = pairs[1].value.content else {
            Issue.record("not a sequence: \(pairs[1].value)")
            return
        }
        #expect(items[0].scalar == "it's")
        #expect(items.map(\.line) == [4, 5])
        guard case .mapping(let inner) = items[1].content else {
            Issue.record("not a mapping: \(items[1])")
            return
        }
        #expect(inner.map(\.key.scalar) == ["c"])
        #expect(inner.map(\.value.scalar) == ["~"])
    }

    @Test("any Unicode text is accepted, also after a byte order mark")
    func unicode() throws {
        #expect(try YAMLNode.read("grüße 🧭")?.scalar == "grüße 🧭")
        guard case .mapping(let pairs)? = try YAMLNode.read("\u{FEFF}a: b\nc: d\n")?.content else {
            Issue.record("no mapping")
            return
        }
        #expect(pairs.map(\.key.scalar) == ["a", "c"])
    }

    @Test("an alias is replaced by its target")
    func aliases() throws {
        guard case .sequence(let items)? = try YAMLNode.read("- &one [a, b]\n- *one\n")?.content,
            case .sequence(let named) = items[1].content
        else {
            Issue.record("no sequence")
            return
        }
        #expect(named.map(\.scalar) == ["a", "b"])
        #expect(items.map(\.line) == [1, 1])
    }

    @Test("nested aliases do not multiply memory (billion laughs attack)", .timeLimit(.minutes(1)))
    func billionLaughs() throws {
        // Expanded, the document would have 9^21 scalars.
        var text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
        for level in 1...20 {
            let parts = repeatElement("*a\(level - 1)", count: 9).joined(separator: ",")
            text += "a\(level): &a\(level) [\(parts)]\n"
        }
        guard case .mapping(let pairs)? = try YAMLNode.read(text)?.content else {
            Issue.record("no mapping")
            return
        }
        #expect(pairs.count == 21)
    }

    @Test("empty documents before the first one are ignored")
    func laterDocument() throws {
        #expect(try YAMLNode.read("---\n# nothing\n---\nsomething\n---\n")?.scalar == "something")
    }

    @Test("the nesting limit includes the targets of aliases")
    func nestedAliases() throws {
        let steps = (1...150).map { "a\($0): &a\($0) [*a\($0 - 1)]\n" }.joined()
        let error = try #require(throws: YAMLError.self) { try YAMLNode.read("a0: &a0 [x]\n" + steps) }
        #expect(error.description == "100:6: nested more than 100 levels deep")
    }

    @Test(
        "a text without a document, or with only empty documents, is parsed as nil",
        arguments: ["", "\n", "# a\n", "---\n", "---\n...\n", "---\n---\n"])
    func nothing(_ text: String) throws {
        #expect(try YAMLNode.read(text) == nil)
    }

    @Test(
        "an error has the line and column of the problem",
        arguments: [
            ("a: b: c\n", "1:5: mapping values are not allowed in this context"),
            ("a: b\nc: 'd\ne: f\n", "4:1: found unexpected end of stream (while scanning a quoted scalar, line 2)"),
            ("a: &x b\nc: &x d\n", "2:4: second occurrence (found duplicate anchor; first occurrence, line 1)"),
            ("a: b\nc: *d\n", "2:4: found undefined alias"),
            ("a: b\nü: \u{1}\n", "2:4: control characters are not allowed"),
            ("a: &b [*b]\n", "1:4: an alias refers to a node that contains it"),
            ("a: b\n---\nc: d\n", "3:1: the file contains more than one document"),
            ("a: b\n---\n---\n--- c\n", "4:5: the file contains more than one document"),
            (
                String(repeating: "- ", count: 100_000) + "a",
                "1:201: nested more than 100 levels deep"
            ),
        ])
    func errors(_ text: String, _ problem: String) throws {
        let error = try #require(throws: YAMLError.self) { try YAMLNode.read(text) }
        #expect(error.description == problem)
    }
}
