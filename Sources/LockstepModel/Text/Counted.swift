/// Returns a count with its noun, such as `1 batch` or `12 batches`.
/// - Parameters:
///   - singular: the noun for a count of one.
///   - plural: the noun for any other count; nil for the singular with an `s`.
package func counted(_ count: some BinaryInteger, _ singular: String, _ plural: String? = nil) -> String {
    "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
}
