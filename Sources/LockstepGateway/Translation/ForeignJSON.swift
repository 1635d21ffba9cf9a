package import LockstepModel

/// JSON that foreign devices send: with words for numbers that are not finite, and perhaps with large texts.
package enum ForeignJSON {
    /// Parses a message.
    /// - Throws: ``Refusal`` of kind `malformed`.
    package static func parse(_ bytes: [UInt8]) throws(Refusal) -> JSONValue {
        try parse(bytes, skippingTextsAbove: .max, limit: .max).value
    }

    /// Parses a message, and replaces large strings in it by empty ones.
    /// - Parameters:
    ///   - maxText: the size of the largest string that is kept, in bytes.
    ///   - limit: the maximum size of all that is kept, in bytes.
    /// - Returns: the value, and the size of the strings that were skipped.
    /// - Throws: ``Refusal`` of kind `malformed`.
    static func parse(
        _ bytes: [UInt8], skippingTextsAbove maxText: Int, limit: Int
    ) throws(Refusal) -> (value: JSONValue, skipped: Int) {
        var options = JSONParser.Options()
        options.acceptsNotFinite = true
        options.maxText = maxText
        options.limit = limit
        do { return try JSONParser.parse(bytes, options) } catch { throw Refusal(.malformed, error.description) }
    }
}
