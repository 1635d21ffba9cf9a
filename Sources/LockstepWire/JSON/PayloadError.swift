import FoundationEssentials
public import LockstepModel

/// The error thrown for a rejected payload. A collector stores its description in the table `rejected`.
public struct PayloadError: Error, Hashable, CustomStringConvertible {
    /// The reason, as one sentence.
    public let description: String
    /// The position of the rejected batch, or nil if it could not be read from the payload.
    public var position: BatchPosition?
    /// Whether the same payload may be accepted later, for example after the receiver is upgraded or its clock is set.
    /// It is false if the payload itself is invalid.
    public var isRetryable: Bool

    /// Creates an error.
    public init(_ description: String, position: BatchPosition? = nil, isRetryable: Bool = false) {
        self.description = description
        self.position = position
        self.isRetryable = isRetryable
    }

    /// The error for a payload that is not valid JSON.
    static let notJSON = PayloadError("not valid JSON (JSON has no NaN or Infinity: use null for an unknown value)")

    /// Creates an error from a decoder's error, as one sentence without Swift type names.
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
            self.init("\(place) is not \(PayloadError.phrase(for: type))")
        case .dataCorrupted(let context)
        where context.codingPath.isEmpty && context.debugDescription.contains("not valid JSON"):
            self = .notJSON
        case .dataCorrupted(let context)
        where !context.codingPath.isEmpty && context.debugDescription.hasPrefix("Cannot initialize "):
            // The description names the Swift type of the enumeration.
            self.init("'\(PayloadError.path(context.codingPath))' has an unknown value")
        case .dataCorrupted(let context):
            let place = context.codingPath.isEmpty ? "" : "'\(PayloadError.path(context.codingPath))': "
            self.init(place + context.debugDescription)
        @unknown default: self.init("\(error)")
        }
    }

    /// Returns a path such as `rate.hz` or `x[0]`.
    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce("") { path, key in
            key.intValue.map { "\(path)[\($0)]" } ?? (path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)")
        }
    }

    /// Returns the type for a sentence such as `'x' is not an array`.
    private static func phrase(for type: any Any.Type) -> String {
        switch type {
        case is Double.Type: "a number"
        case is Int64.Type, is Int.Type: "a whole number"
        case is String.Type: "a string"
        case is Bool.Type: "true or false"
        case is [Any].Type: "an array"
        default:
            "\(type)".hasPrefix("Array") ? "an array" : "\(type)".hasPrefix("Dictionary") ? "an object" : "a \(type)"
        }
    }
}
