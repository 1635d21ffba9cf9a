import LockstepHTTP
import LockstepModel
import Testing

@testable import LockstepServe

@Suite("Targets, parameters and routes")
struct RequestTargetTests {
    @Test("segments and parameters are decoded once, and a plus sign stays")
    func decoding() throws {
        let target = try RequestTarget("/a/b%2Fc/?from=2026-11-21T09:30%2B01:00&to=2026+1&flag")
        #expect(target.segments == ["a", "b/c", ""])
        #expect(target.query.map(\.name) == ["from", "to", "flag"])
        #expect(target.query.map(\.value) == ["2026-11-21T09:30+01:00", "2026+1", ""])
        #expect(try RequestTarget("/%252e").segments == ["%2e"])
    }

    @Test("an invalid encoding is refused", arguments: ["/%", "/%4", "/%zz", "/%ff", "/%00", "x", "*", ""])
    func invalidEncoding(_ text: String) {
        #expect(throws: Problem.self) { try RequestTarget(text) }
    }

    @Test("unknown and repeated parameters are refused with the known ones")
    func parameterNames() throws {
        let query = [(name: "a", value: "1"), (name: "a", value: "2")]
        #expect(try QueryParameters(query, allowed: ["a"], repeatable: ["a"]).all("a") == ["1", "2"])
        #expect(throws: Problem.self) { try QueryParameters(query, allowed: ["a"]) }
        do {
            _ = try QueryParameters([(name: "x", value: "")], allowed: ["from", "to"])
            Issue.record("accepted")
        } catch { #expect(error.detail.contains("'x'") && error.detail.contains("from, to")) }
    }

    @Test(
        "times and numbers outside of their range are refused",
        arguments: ["", "x", "-", "-5", "1e3", "99999999999999999999", "2026-13-01", "-5y"])
    func invalidValues(_ text: String) throws {
        let query = try QueryParameters([(name: "t", value: text)], allowed: ["t"])
        #expect(throws: Problem.self) { try query.number("t", in: 1...100) }
        if text != "-5" { #expect(throws: Problem.self) { try query.time("t", now: .init(microseconds: 0)) } }
    }

    @Test("a time is absolute, now, or before now")
    func times() throws {
        let now = QueryParameters.latest - 1
        for (text, expected) in [("now", now), ("-5m", now - 300_000_000), ("7", .init(microseconds: 7))] {
            #expect(try QueryParameters([(name: "t", value: text)], allowed: ["t"]).time("t", now: now) == expected)
        }
    }

    @Test("a route matches names, the rest of a path, and HEAD like GET")
    func routes() {
        var table = RouteTable<Int>()
        table.add(Route("GET", "/d/{device}", right: .read), 1)
        table.add(Route("GET", "/d/{device}/s/{stream…}", right: .read), 2)
        table.add(Route("POST", "/d/{device}", right: .operate), 3)
        func found(_ method: String, _ path: String) -> String {
            guard let target = try? RequestTarget(path) else { return "invalid" }
            switch table.match(method, target.segments) {
            case .found(_, let number, let values): return "\(number) \(values.sorted { $0.key < $1.key }.map(\.value))"
            case .otherMethods(let methods): return methods.joined(separator: ",")
            case .none: return "none"
            }
        }
        #expect(found("HEAD", "/d/a") == "1 [\"a\"]")
        #expect(found("POST", "/d/a") == "3 [\"a\"]")
        #expect(found("PUT", "/d/a") == "GET,HEAD,POST")
        #expect(found("GET", "/d/a/s/motion/x") == "2 [\"a\", \"motion/x\"]")
        #expect(found("GET", "/d/a/s/") == "none")
        #expect(found("GET", "/d/a/") == "none")
        #expect(found("GET", "/d") == "none")
    }

    @Test(
        "a file name cannot leave its folder",
        arguments: [
            "../x", "a/../x", "/etc/passwd", "a//b", ".git", "a\\b", "",
            "\u{600}/../\u{301}x",
        ])
    func unsafeNames(_ name: String) { #expect(!StaticFile.isSafe(name)) }
}
