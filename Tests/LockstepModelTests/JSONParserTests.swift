import LockstepModel
import Testing

@Suite("JSON parser")
struct JSONParserTests {
    @Test("whole numbers keep all 64 bits")
    func wholeNumbers() throws {
        #expect(try JSONParser.parse(Array("1795575600123456789".utf8)) == .integer(1_795_575_600_123_456_789))
        #expect(try JSONParser.parse(Array("-9223372036854775808".utf8)) == .integer(.min))
        #expect(try JSONParser.parse(Array("9223372036854775808".utf8)) == .real(9_223_372_036_854_775_808))
        for text in ["9223372036854775808", "-9223372036854775809"] {
            #expect(try JSONParser.parse(Array(text.utf8)).integer == nil)
        }
    }

    @Test("values of all kinds are read")
    func values() throws {
        let text = #" {"a":[1,-0.5,2e3,true,false,null],"b":{"c":"x\"\\\/\b\f\n\r\té\u00e9\ud83d\ude00"},"b2":""} "#
        let value = try JSONParser.parse(Array(text.utf8))
        #expect(value["a"] == .array([.integer(1), .real(-0.5), .real(2000), .bool(true), .bool(false), .null]))
        #expect(value["b"]?["c"] == .string("x\"\\/\u{8}\u{c}\n\r\téé😀"))
        #expect(value["b2"] == .string(""))
    }

    @Test(
        "invalid texts are refused",
        arguments: [
            "", " ", "{", "[1,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "01", "1.", ".5", "+1", "1e", "-", "nul", "NaN",
            "1e999", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\\u12g4\"", "\"a\nb\"", "1 2", "[1 2]",
        ])
    func invalid(_ text: String) { #expect(throws: JSONError.self) { try JSONParser.parse(Array(text.utf8)) } }

    @Test("deep nesting is refused before the stack ends")
    func depth() {
        #expect(throws: JSONError.self) { try JSONParser.parse(Array(repeating: UInt8(ascii: "["), count: 1_000_000)) }
        let deep = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        #expect(throws: Never.self) { try JSONParser.parse(Array(deep.utf8)) }
    }

    @Test("half a surrogate pair is the replacement character")
    func surrogates() throws {
        let text = Array(#"["\ud800","\ud800\u0041","\udc00x","\ud83d\ude00"]"#.utf8)
        #expect(try JSONParser.parse(text) == .array(["\u{FFFD}", "\u{FFFD}A", "\u{FFFD}x", "😀"].map { .string($0) }))
    }

    @Test("words for numbers that are not finite are texts only if they are accepted; too large numbers are texts")
    func notFinite() throws {
        let text = Array("[NaN,-Infinity,inf,nan,1e999]".utf8)
        var options = JSONParser.Options()
        options.acceptsNotFinite = true
        #expect(
            try JSONParser.parse(text, options).value
                == .array(["NaN", "-Infinity", "inf", "nan", "1e999"].map { .string($0) }))
        #expect(throws: JSONError.self) { try JSONParser.parse(text) }
        #expect(try JSONParser.parse(Array("[1e999]".utf8)) == .array([.string("1e999")]))
        for word in ["[nan]", "[-inf]"] {
            #expect(throws: JSONError.self) { try JSONParser.parse(Array(word.utf8)) }
        }
    }

    @Test("text that is not UTF-8 is refused")
    func encoding() { #expect(throws: JSONError.self) { try JSONParser.parse([0x22, 0xff, 0x22]) } }
}
