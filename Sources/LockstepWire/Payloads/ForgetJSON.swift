public import FoundationEssentials
public import LockstepModel

/// A request to forget a device.
public struct ForgetRequest: Sendable, Hashable {
    /// The id, which the answers repeat, or nil if it has none.
    public var id: String?
    /// Whether a collector that does not know the device deletes its retained messages. Set it only if no collector knows
    /// the device: one that knows it needs them.
    public var deletesUnknown: Bool

    /// Creates a request.
    public init(id: String?, deletesUnknown: Bool = false) {
        self.id = id
        self.deletesUnknown = deletesUnknown
    }
}

/// A collector's answer to a request to forget a device.
public struct ForgetAnswer: Sendable, Hashable {
    /// What the collector has done.
    public enum Outcome: String, Sendable, Hashable, JSONReadable {
        /// The device is forgotten, until it sends again.
        case forgotten
        /// The collector does not know the device.
        case unknown
        /// The device belongs to another partition of its group, so another collector has it.
        case other
        /// The device is online, so it is not forgotten.
        case online
    }

    /// The id of the request, or nil if it has none.
    public var id: String?
    /// The collector.
    public var collector: CollectorID
    /// What it has done.
    public var outcome: Outcome
    /// The state of the device, or nil if none is known.
    public var state: LifecycleState?

    /// Creates an answer.
    public init(id: String?, collector: CollectorID, outcome: Outcome, state: LifecycleState? = nil) {
        self.id = id
        self.collector = collector
        self.outcome = outcome
        self.state = state
    }
}

/// The JSON encoding of requests to forget a device, `{"id":"3f2a"}`, and of the answers of collectors,
/// `{"id":"3f2a","collector":"main","outcome":"forgotten"}`.
public enum ForgetJSON {
    /// The maximum length of an id, in bytes.
    public static let maxIDBytes = 64

    /// Encodes a request.
    public static func encode(_ request: ForgetRequest) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", ifPresent: request.id)
        if request.deletesUnknown { object.member("delete_unknown", true) }
        return object.finish()
    }

    /// Decodes a request.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodeRequest(_ payload: Data) throws(PayloadError) -> ForgetRequest {
        let object = try JSONMembers(payload)
        let id: String? = try object.optional("id")
        guard id?.utf8.count ?? 0 <= maxIDBytes else { throw PayloadError("'id' is longer than \(maxIDBytes) bytes") }
        return ForgetRequest(id: id, deletesUnknown: try object.optional("delete_unknown") ?? false)
    }

    /// Encodes an answer.
    public static func encode(_ answer: ForgetAnswer) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("id", ifPresent: answer.id)
        object.member("collector", answer.collector.rawValue)
        object.member("outcome", answer.outcome.rawValue)
        object.member("state", ifPresent: answer.state?.rawValue)
        return object.finish()
    }

    /// Decodes an answer.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decodeAnswer(_ payload: Data) throws(PayloadError) -> ForgetAnswer {
        let object = try JSONMembers(payload)
        return ForgetAnswer(
            id: try object.optional("id"), collector: try object.required("collector"),
            outcome: try object.required("outcome"), state: try object.optional("state"))
    }
}
