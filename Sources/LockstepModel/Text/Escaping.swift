extension String {
    /// Returns the text with another text in place of some ASCII characters.
    ///
    /// `replacing(_:with:)` compares whole characters, so that it does not find a quotation mark that is followed by a
    /// combining mark. For a database or a browser it is a quotation mark nevertheless.
    package func escaping(_ escapes: [Unicode.Scalar: String]) -> String {
        var result = ""
        result.reserveCapacity(utf8.count)
        for scalar in unicodeScalars {
            if let escape = escapes[scalar] { result += escape } else { result.unicodeScalars.append(scalar) }
        }
        return result
    }
}
