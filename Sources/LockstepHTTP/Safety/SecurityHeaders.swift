/// The header fields that restrict what a browser does with an answer.
package struct SecurityHeaders: Sendable {
    package let fields: [(name: String, value: String)]

    /// - Parameter tiles: the address of map tiles, such as `https://tile.example.org/{z}/{x}/{y}.png`. Only its origin
    ///   is allowed as another source of images.
    package init(tiles: String?) {
        let images = ["'self'", "data:"] + (tiles.flatMap(Self.origin).map { [$0] } ?? [])
        let policy = [
            "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src \(images.joined(separator: " "))",
            "font-src 'self'", "connect-src 'self'", "manifest-src 'self'", "base-uri 'none'", "form-action 'self'",
            "frame-ancestors 'none'",
        ]
        fields = [
            ("Content-Security-Policy", policy.joined(separator: "; ")),
            ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
            ("X-Frame-Options", "DENY"),
        ]
    }

    /// Returns the origin of an address of tiles, such as `https://tile.example.org`; nil if it is not such an address.
    ///
    /// A placeholder in the host, such as `{s}`, becomes a wildcard: `https://*.tile.example.org`.
    package static func origin(_ tiles: String) -> String? {
        guard let scheme = ["https://", "http://"].first(where: tiles.hasPrefix) else { return nil }
        let host = tiles.dropFirst(scheme.count).prefix { $0 != "/" }
        let levels = host.split(separator: ".", omittingEmptySubsequences: false)
        let isValid = host.utf8.allSatisfy { byte in
            (0x21...0x7E).contains(byte) && !"'\";,?#@\\ ".utf8.contains(byte)
        }
        guard isValid, let first = levels.first, !first.isEmpty,
            !levels.dropFirst().contains(where: { $0.contains("{") })
        else { return nil }
        return scheme + (first.contains("{") ? (["*"] + levels.dropFirst()).joined(separator: ".") : String(host))
    }
}
