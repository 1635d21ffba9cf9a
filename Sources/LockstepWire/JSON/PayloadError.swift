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
    static func notJSON(_ error: JSONError) -> PayloadError {
        let reason = error.description.split(separator: "invalid JSON: ").last ?? ""
        return PayloadError("not valid JSON: \(reason) (JSON has no NaN or Infinity: use null for an unknown value)")
    }
}
