public import FoundationEssentials
public import LockstepModel

/// A gateway's health report, retained on `{root}/{group}/$gateway/{id}`. The gateway's last will has the same form.
public struct GatewayHealth: Hashable, Sendable {
    /// The operating status of a gateway.
    public enum Status: String, Sendable, CaseIterable, JSONReadable {
        /// Connected, and accepting messages.
        case online
        /// Connected, but temporarily unable to accept anything: see ``GatewayHealth/problem``.
        case stalled
        /// Stopped, or disconnected if the report is the last will.
        case offline
    }

    /// The figures of the host application of Sparkplug B.
    public struct Sparkplug: Hashable, Sendable {
        /// Whether its connection to the broker is up.
        public var connected: Bool
        /// The present number of nodes.
        public var nodes: Int
        /// The present number of devices of all nodes.
        public var devices: Int
        /// The number of messages of nodes received since the start.
        public var messages: Int
        /// The number of messages that were missing, by the numbers of their nodes.
        public var missing: Int
        /// The number of requests for birth messages.
        public var rebirths: Int
        /// The present number of nodes of which no metric has a column, so that nothing of them is stored.
        public var unmapped: Int

        /// Creates the figures.
        public init(
            connected: Bool = false, nodes: Int = 0, devices: Int = 0, messages: Int = 0, missing: Int = 0,
            rebirths: Int = 0, unmapped: Int = 0
        ) {
            self.connected = connected
            self.nodes = nodes
            self.devices = devices
            self.messages = messages
            self.missing = missing
            self.rebirths = rebirths
            self.unmapped = unmapped
        }
    }

    /// The operating status.
    public var status: Status
    /// The time of the report.
    public var at: Timestamp
    /// The reason why the gateway cannot accept messages, such as a full disk, or nil if it can.
    public var problem: String?
    /// The number of known devices.
    public var devices: Int
    /// The number of foreign messages accepted since the start.
    public var accepted: Int
    /// The number of foreign messages refused since the start.
    public var refused: Int
    /// The number of parts of accepted messages that were left out because they could not be read; nil if it is not reported.
    public var leftOut: Int?
    /// The number of HTTP requests with a wrong or missing login since the start, or nil if it is not reported.
    public var refusedLogins: Int?
    /// The size of the batches in the outbox in bytes.
    public var outboxBytes: Int
    /// The number of samples dropped because of the size limit of the outbox.
    public var dropped: Int
    /// The version of the program, or nil if the gateway does not report it.
    public var version: String?
    /// The start time on the gateway's clock, or nil in the last will.
    public var started: Timestamp?
    /// The current resident memory in bytes, or nil if unknown.
    public var memory: Int?
    /// The figures of the host application of Sparkplug B, or nil if there is none.
    public var sparkplug: Sparkplug?
    /// The ends of the validity of its certificates; nil without TLS, and from a gateway that does not report them.
    public var certificates: CertificateTimes?

    /// Creates a report.
    public init(
        status: Status, at: Timestamp, problem: String? = nil, devices: Int = 0, accepted: Int = 0, refused: Int = 0,
        leftOut: Int? = nil, refusedLogins: Int? = nil, outboxBytes: Int = 0, dropped: Int = 0, version: String? = nil,
        started: Timestamp? = nil, memory: Int? = nil,
        sparkplug: Sparkplug? = nil, certificates: CertificateTimes? = nil
    ) {
        self.status = status
        self.at = at
        self.problem = problem
        self.devices = devices
        self.accepted = accepted
        self.refused = refused
        self.leftOut = leftOut
        self.refusedLogins = refusedLogins
        self.outboxBytes = outboxBytes
        self.dropped = dropped
        self.version = version
        self.started = started
        self.memory = memory
        self.sparkplug = sparkplug
        self.certificates = certificates
    }

    /// Returns the report as JSON.
    public func encoded() -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("status", status.rawValue)
        object.member("at", at.microseconds)
        object.member("problem", ifPresent: problem)
        object.member("devices", Int64(devices))
        object.member("accepted", Int64(accepted))
        object.member("refused", Int64(refused))
        object.member("left_out", ifPresent: leftOut.map(Int64.init))
        object.member("refused_logins", ifPresent: refusedLogins.map(Int64.init))
        object.member("outbox_bytes", Int64(outboxBytes))
        object.member("dropped", Int64(dropped))
        object.member("version", ifPresent: version)
        object.member("started", ifPresent: started?.microseconds)
        object.member("memory", ifPresent: memory.map(Int64.init))
        if let sparkplug {
            object.member("sparkplug") { object in
                object.member("connected", sparkplug.connected)
                object.member("nodes", Int64(sparkplug.nodes))
                object.member("devices", Int64(sparkplug.devices))
                object.member("messages", Int64(sparkplug.messages))
                object.member("missing", Int64(sparkplug.missing))
                object.member("rebirths", Int64(sparkplug.rebirths))
                object.member("unmapped", Int64(sparkplug.unmapped))
            }
        }
        object.member(certificates: certificates ?? [:])
        return object.finish()
    }

    /// Decodes a report from JSON.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> GatewayHealth {
        let object = try JSONMembers(payload)
        let sparkplug: JSONMembers? = try object.optional("sparkplug")
        let certificates: CertificateTimes? = try object.optional("certificates")
        return GatewayHealth(
            status: try object.required("status"), at: try object.time("at"), problem: try object.optional("problem"),
            devices: try object.required("devices"), accepted: try object.required("accepted"),
            refused: try object.required("refused"), leftOut: try object.optional("left_out"),
            refusedLogins: try object.optional("refused_logins"), outboxBytes: try object.required("outbox_bytes"),
            dropped: try object.required("dropped"), version: try object.optional("version"),
            started: try object.optional("started"), memory: try object.optional("memory"),
            sparkplug: try sparkplug.map { host throws(PayloadError) in
                Sparkplug(
                    connected: try host.required("connected"), nodes: try host.required("nodes"),
                    devices: try host.required("devices"), messages: try host.required("messages"),
                    missing: try host.required("missing"), rebirths: try host.required("rebirths"),
                    unmapped: try host.optional("unmapped") ?? 0)
            },
            certificates: certificates?.valid)
    }
}
