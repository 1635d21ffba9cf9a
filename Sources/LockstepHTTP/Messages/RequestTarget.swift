/// The target of a request: its decoded path segments and query parameters.
package struct RequestTarget: Hashable {
    /// The path segments, decoded: `/a/b%2Fc` has the segments `a` and `b/c`, and `/` has one empty segment.
    package let segments: [String]
    /// The query parameters in their order, decoded.
    package let query: [(name: String, value: String)]

    /// Parses the target of a request line, such as `/api/v1/devices?group=lab`.
    /// - Throws: ``Problem`` for a target that is not a path, or has an invalid percent-encoding.
    package init(_ target: String) throws(Problem) {
        guard target.utf8.first == UInt8(ascii: "/") else {
            throw .badRequest("the request target is not a path: start it with '/'")
        }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var segments: [String] = []
        for segment in parts[0].dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            segments.append(try Self.decode(segment))
        }
        self.segments = segments
        var query: [(name: String, value: String)] = []
        for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            query.append((try Self.decode(sides[0]), sides.count > 1 ? try Self.decode(sides[1]) : ""))
        }
        self.query = query
    }

    package static func == (left: RequestTarget, right: RequestTarget) -> Bool {
        left.segments == right.segments && left.query.elementsEqual(right.query) { $0 == $1 }
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(segments) }

    /// Decodes `%20` and the like. A `+` stays a `+`, because times such as `2026-11-21T09:30+01:00` contain it.
    private static func decode(_ text: Substring) throws(Problem) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexadecimalDigit),
                let low = rest.popFirst().flatMap(hexadecimalDigit)
            else { throw .badRequest("the request target has an invalid percent-encoding: write '%' as %25") }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self), !decoded.utf8.contains(0) else {
            throw .badRequest("the request target is not UTF-8 without zero bytes")
        }
        return decoded
    }
}

private func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
}
