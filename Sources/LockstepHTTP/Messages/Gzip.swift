package import HTTPTypes
package import LockstepTransfer

extension Gzip {
    /// Returns whether a client accepts gzip, by its field `Accept-Encoding`.
    package static func isAccepted(_ fields: HTTPFields) -> Bool {
        fields[values: .acceptEncoding].joined(separator: ",").split(separator: ",").contains { coding in
            let parts = coding.lowercased().filter { $0 != " " }.split(separator: ";")
            guard let name = parts.first, name == "gzip" || name == "x-gzip" else { return false }
            return !parts.dropFirst().contains {
                $0.hasPrefix("q=0") && !$0.dropFirst(3).contains { "123456789".contains($0) }
            }
        }
    }

    /// Returns whether documents of a media type become smaller.
    package static func isUseful(for type: String?) -> Bool {
        guard let type = type?.prefix(while: { $0 != ";" }) else { return false }
        return type.hasPrefix("text/") || type.hasSuffix("json") || type.hasSuffix("xml") || type.hasSuffix("script")
    }
}
