/// The error thrown for an invalid declaration of a stream.
public struct StreamDeclarationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason and what to do, as one sentence.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Checks a text that becomes part of an SQL comment in the schema of a store.
    /// - Throws: ``StreamDeclarationError`` if the text is too long or could end the comment.
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
