/// The value of a field `Host`: a name or address with an optional port.
package struct HostName: Hashable {
    /// The whole value, in lower case.
    package let text: String
    /// The name or address, without brackets.
    package let name: String

    /// Parses a value such as `localhost:8080` or `[::1]:8080`. Returns nil for any other text.
    package init?(_ text: String) {
        let text = text.lowercased()
        let rest: Substring
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            name = String(text[text.index(after: text.startIndex)..<end])
            rest = text[text.index(after: end)...]
        } else {
            name = String(text.prefix { $0 != ":" })
            rest = text.dropFirst(name.count)
        }
        guard !name.isEmpty, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"/?#@".utf8.contains($0) }),
            rest.isEmpty || (rest.hasPrefix(":") && UInt16(rest.dropFirst()) != nil)
        else { return nil }
        self.text = text
    }

    /// Whether only this machine itself can be meant.
    package var isLoopback: Bool {
        if ["localhost", "localhost.", "::1"].contains(name) { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
