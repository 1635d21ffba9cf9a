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

/// Returns a count with its noun, such as `1 batch` or `12 batches`.
/// - Parameters:
///   - singular: the noun for a count of one.
///   - plural: the noun for any other count; nil for the singular with an `s`.
package func counted(_ count: some BinaryInteger, _ singular: String, _ plural: String? = nil) -> String {
    "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
}
