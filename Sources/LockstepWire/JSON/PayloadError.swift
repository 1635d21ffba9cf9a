import FoundationEssentials
public import LockstepModel

/// Why a payload is rejected; the text ends in a store's `rejected` table.
public struct PayloadError: Error, Hashable, CustomStringConvertible {
    public let description: String
    /// The number of the rejected batch, where the payload told it.
    public var position: BatchPosition?
    /// Whether the payload can be taken some day although not now: the fault may lie with the reader, with its clock or
    /// its version. What is at fault itself never gets better.
    public var isRetryable: Bool

    public init(_ description: String, position: BatchPosition? = nil, isRetryable: Bool = false) {
        self.description = description
        self.position = position
        self.isRetryable = isRetryable
    }

    static let notJSON = PayloadError("not valid JSON (which has no NaN and no Infinity: an unknown value is null)")

    /// The reason in a decoder's error, in a sentence and without its type names.
    init(decoding error: any Error) {
        guard let error = error as? DecodingError else {
            self = error as? PayloadError ?? PayloadError("\(error)")
            return
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init("'\(PayloadError.path(context.codingPath + [key]))' is missing")
        case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
            let place = context.codingPath.isEmpty ? "the payload" : "'\(PayloadError.path(context.codingPath))'"
            self.init("\(place) is not \(PayloadError.word(for: type))")
        case .dataCorrupted(let context)
        where context.codingPath.isEmpty && context.debugDescription.contains("not valid JSON"):
            self = .notJSON
        case .dataCorrupted(let context):
            let place = context.codingPath.isEmpty ? "" : "'\(PayloadError.path(context.codingPath))': "
            self.init(place + context.debugDescription)
        @unknown default: self.init("\(error)")
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("") { path, key in
            key.intValue.map { "\(path)[\($0)]" } ?? (path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)")
        }
    }

    private static func word(for type: any Any.Type) -> String {
        switch type {
        case is Double.Type: "a number"
        case is Int64.Type: "a whole number"
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is [Any].Type: "an array"
        default:
            "\(type)".hasPrefix("Array") ? "an array" : "\(type)".hasPrefix("Dictionary") ? "an object" : "a \(type)"
        }
    }
}
