import LockstepModel
import Testing

@Suite("Escaping of texts")
struct EscapingTests {
    @Test(
        "a mark is found although a combining mark follows it, or a prepended one precedes it",
        arguments: [("'\u{301}", "''\u{301}"), ("\u{600}'", "\u{600}''"), ("it's", "it''s"), ("", "")])
    func combined(text: String, expected: String) {
        // Of bytes, because texts compare by characters.
        #expect(Array(text.escaping(["'": "''"]).utf8) == Array(expected.utf8))
    }
}
