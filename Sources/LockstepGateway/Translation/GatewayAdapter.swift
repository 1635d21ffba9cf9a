public import LockstepModel

/// A translator of one foreign format.
///
/// An adapter performs no I/O and keeps no state: equal messages give equal translations.
public protocol GatewayAdapter: Sendable {
    /// The name of the format, which begins the foreign names: `owntracks`.
    var name: String { get }
    /// The MQTT topic filters of the format. Empty if the format has no MQTT messages.
    var topicFilters: [String] { get }
    /// The HTTP path of the format, such as `/owntracks`; nil if it has no HTTP requests.
    var path: String? { get }
    /// The times after which a silent sender counts as lost.
    var silence: SilenceLimits { get }

    /// How many times the maximum size of a message one may have whose large texts are skipped.
    var payloadFactor: Int { get }

    /// Translates a message.
    /// - Throws: ``Refusal`` if nothing of the message can be used.
    func translate(_ message: ForeignMessage) throws(Refusal) -> Translation

    /// Returns the HTTP answer to a request.
    func answer(to outcome: RequestOutcome) -> HTTPAnswer
}

extension GatewayAdapter {
    /// A day, for formats whose senders may send once an hour or seldom.
    public var silence: SilenceLimits { SilenceLimits(all: 86_400_000_000) }
    /// 1, for formats whose messages are read as a whole.
    public var payloadFactor: Int { 1 }
    /// No HTTP requests.
    public var path: String? { nil }

    /// Answers with the plain status: 204, 400, 403, 409, 422 or 503. The server adds a problem document to an error.
    public func answer(to outcome: RequestOutcome) -> HTTPAnswer {
        switch outcome {
        case .accepted: HTTPAnswer(status: 204)
        case .refused(let refusal): HTTPAnswer(status: refusal.kind.status)
        case .unavailable: HTTPAnswer(status: 503)
        }
    }
}

/// What became of an HTTP request.
public enum RequestOutcome: Sendable, Hashable {
    /// The samples are in the outbox, on disk.
    case accepted(RequestReceipt)
    /// The request can never succeed.
    case refused(Refusal)
    /// The outbox cannot be written at present, so the client should send the request again.
    case unavailable
}

/// What an accepted request is answered with.
public struct RequestReceipt: Sendable, Hashable {
    /// The number of the message, or nil if its sender does not number its messages.
    public var number: Int64?
    /// The messages of friends of the sender, as JSON objects.
    public var friends: [[UInt8]]

    /// Creates a receipt.
    public init(number: Int64? = nil, friends: [[UInt8]] = []) {
        self.number = number
        self.friends = friends
    }
}

extension Refusal.Kind {
    /// The HTTP status that ends all attempts of a client that follows RFC 9110, or with which it sends again later.
    var status: Int {
        switch self {
        case .malformed: 400
        case .undecryptable, .unknownSender: 403
        case .tooManyDevices: 503
        case .nameTaken: 409
        case .implausibleTime: 422
        }
    }
}

/// The HTTP answer to a request.
public struct HTTPAnswer: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The content type of the body; nil without a body.
    public var contentType: String?
    /// The body.
    public var body: [UInt8]

    /// Creates an answer.
    public init(status: Int, contentType: String? = nil, body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

/// The settings of all formats, and the list of their adapters.
public struct AdapterSettings: Sendable {
    /// The topic levels before the user of OwnTracks.
    public var ownTracksBase = "owntracks"
    /// The secrets of OwnTracks senders who encrypt.
    public var ownTracksKeys = OwnTracksKeys()

    /// The settings of Sensor Logger.
    public var sensorLogger = SensorLoggerSettings()
    /// The topic of SenML packs.
    public var senMLTopic = "senml"
    /// The columns of SenML measurements, by the end of their names.
    public var senMLTargets: [String: SenMLTarget] = [:]
    /// The rules for JSON messages without an adapter of their own.
    public var jsonRules: [JSONRule] = []
    /// The streams.
    public var catalog = StreamCatalog.builtIn

    /// Creates default settings.
    public init() {}

    /// Creates the adapters of all formats. A new format needs a line here.
    public func makeAll() -> [any GatewayAdapter] {
        [
            OwnTracksAdapter(base: ownTracksBase, keys: ownTracksKeys), SensorLoggerAdapter(sensorLogger),
            SenMLAdapter(topic: senMLTopic, targets: senMLTargets, catalog: catalog),
            GenericJSONAdapter(jsonRules, catalog: catalog),
            JoinAdapter(catalog: catalog),
        ]
    }
}
