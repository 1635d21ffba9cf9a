import FoundationEssentials
public import LockstepModel

/// The reason why a payload is rejected. The collector stores its text in the table `rejected`.
public struct PayloadError: Error, Hashable, CustomStringConvertible {
    /// The reason, as one sentence.
    public let description: String
    /// The position of the rejected batch, if it could be read from the payload.
    public var position: BatchPosition?
    /// Whether the same payload may be accepted later, because the cause may be the receiver's clock or version. An
    /// invalid payload is never accepted.
    public var isRetryable: Bool

    /// Creates an error.
    public init(_ description: String, position: BatchPosition? = nil, isRetryable: Bool = false) {
        self.description = description
        self.position = position
        self.isRetryable = isRetryable
    }

    static let notJSON = PayloadError("not valid JSON (JSON has no NaN or Infinity: use null for an unknown value)")

    /// Converts a decoder's error to one sentence without Swift type names.
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
