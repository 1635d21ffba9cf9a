/// The reason why the declaration of a stream is invalid, and what to do about it.
public struct StreamDeclarationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason, as one sentence.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Checks a text that becomes part of a comment in the schema of a store.
    static func checkText(_ text: String, maxLength: Int, of field: String) throws(StreamDeclarationError) {
        guard text.count <= maxLength else {
            throw StreamDeclarationError("the \(field) has \(text.count) characters: use at most \(maxLength)")
        }
        guard !text.unicodeScalars.contains(where: \.isControlOrSeparator), !text.contains("*/") else {
            throw StreamDeclarationError("the \(field) contains a control character, a line break or '*/': remove it")
        }
    }
}

extension Unicode.Scalar {
    fileprivate var isControlOrSeparator: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
