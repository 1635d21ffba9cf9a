public import FoundationEssentials
public import LockstepModel

/// A collector's health report, retained on `{root}/{group}/$collector/{id}`. The collector's last will has the same form.
public struct CollectorHealth: Hashable, Sendable {
    /// The operating status of a collector.
    public enum Status: String, Sendable, JSONReadable {
        /// Connected and storing samples.
        case online
        /// Connected, but temporarily unable to store or acknowledge anything: see ``CollectorHealth/problem``.
        case stalled
        /// Stopped, or disconnected if the report is the last will.
        case offline
    }

    /// The store into which a collector writes.
    public struct Store: Hashable, Sendable {
        /// Identifies the store; opaque. Two stores to which collectors write have different ids.
        public var id: String
        /// The name for people: the path of the file, or the servers and the database.
        public var name: String
        /// The host name of the collector's machine.
        public var host: String

        /// Creates a description.
        public init(id: String, name: String, host: String) {
            self.id = id
            self.name = name
            self.host = host
        }
    }

    /// The operating status.
    public var status: Status
    /// The time of the report.
    public var at: Timestamp
    /// The reason why the collector cannot store samples, such as a full disk, or nil if it can.
    public var problem: String?
    /// The number of known devices.
    public var devices: Int
    /// The number of samples stored since the collector started.
    public var stored: Int
    /// The number of duplicate samples since the collector started.
    public var duplicates: Int
    /// The number of samples that conflicted with stored samples since the collector started.
    public var conflicts: Int
    /// The number of messages rejected since the collector started.
    public var rejected: Int
    /// The number of samples that agents reported as dropped, or nil if the collector does not report this number.
    public var dropped: Int64?
    /// The version of the program, or nil if the collector does not report it.
    public var version: String?
    /// The start time on the collector's clock, or nil in the last will.
    public var started: Timestamp?
    /// The current resident memory in bytes, or nil if unknown.
    public var memory: Int?
    /// The peak resident memory in bytes, or nil if unknown.
    public var memoryPeak: Int?
    /// The store; nil in a last will that says 'offline', for a share of a cluster, and from a collector that does not report it.
    public var store: Store?
    /// The ends of the validity of its certificates; nil without TLS, and from a collector that does not report them.
    public var certificates: CertificateTimes?
    /// The groups whose devices it collects; nil for all, and from a collector that does not report them.
    public var groups: [String]?
    /// The size of the store, and what leaves it; nil in a last will, and for a store on a server.
    public var space: Space?
    /// The stream that each of its rules watches, by the rule's name; nil without such rules, and from a collector that
    /// does not report them.
    public var rules: [String: String]?
    /// The areas that its rules watch, by the names of their places; nil without any, and from a collector that does not
    /// report them.
    public var places: [String: Place]?

    /// Creates a report.
    public init(
        status: Status, at: Timestamp, problem: String? = nil, devices: Int = 0, stored: Int = 0, duplicates: Int = 0,
        conflicts: Int = 0, rejected: Int = 0, dropped: Int64? = nil, version: String? = nil,
        started: Timestamp? = nil, memory: Int? = nil, memoryPeak: Int? = nil, store: Store? = nil,
        groups: [String]? = nil, certificates: CertificateTimes? = nil, space: Space? = nil,
        rules: [String: String]? = nil, places: [String: Place]? = nil
    ) {
        self.status = status
        self.at = at
        self.problem = problem
        self.devices = devices
        self.stored = stored
        self.duplicates = duplicates
        self.conflicts = conflicts
        self.rejected = rejected
        self.dropped = dropped
        self.version = version
        self.started = started
        self.memory = memory
        self.memoryPeak = memoryPeak
        self.store = store
        self.groups = groups
        self.certificates = certificates
        self.space = space
        self.rules = rules
        self.places = places
    }

    /// Returns the report as JSON.
    public func encoded() -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("status", status.rawValue)
        object.member("at", at.microseconds)
        object.member("problem", ifPresent: problem)
        object.member("devices", Int64(devices))
        object.member("stored", Int64(stored))
        object.member("duplicates", Int64(duplicates))
        object.member("conflicts", Int64(conflicts))
        object.member("rejected", Int64(rejected))
        object.member("dropped", ifPresent: dropped)
        object.member("version", ifPresent: version)
        object.member("started", ifPresent: started?.microseconds)
        object.member("memory", ifPresent: memory.map(Int64.init))
        object.member("memory_peak", ifPresent: memoryPeak.map(Int64.init))
        if let store {
            object.member("store") { object in
                object.member("id", store.id)
                object.member("name", store.name)
                object.member("host", store.host)
            }
        }
        if let groups { object.member("groups", groups) { $0.string($1) } }
        if let space { object.member("space") { space.write(to: &$0) } }
        if let rules { object.member("rules", rules) }
        if let places { object.member("places") { Place.write(places, to: &$0) } }
        object.member(certificates: certificates ?? [:])
        return object.finish()
    }

    /// Decodes a report from JSON.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> CollectorHealth {
        let object = try JSONMembers(payload)
        let store: JSONMembers? = try object.optional("store")
        let space: JSONMembers? = try object.optional("space")
        let certificates: CertificateTimes? = try object.optional("certificates")
        return CollectorHealth(
            status: try object.required("status"), at: try object.time("at"), problem: try object.optional("problem"),
            devices: try object.required("devices"), stored: try object.required("stored"),
            duplicates: try object.required("duplicates"), conflicts: try object.required("conflicts"),
            rejected: try object.required("rejected"), dropped: try object.optional("dropped"),
            version: try object.optional("version"), started: try object.optional("started"),
            memory: try object.optional("memory"), memoryPeak: try object.optional("memory_peak"),
            store: try store.map { store throws(PayloadError) in
                Store(
                    id: try store.required("id"), name: try store.required("name"), host: try store.required("host"))
            },
            groups: try object.optional("groups"), certificates: certificates?.valid,
            space: try space.map { space throws(PayloadError) in try Space(space) },
            rules: try object.optional("rules"), places: try object.optional("places"))
    }
}

extension JSONMembers {
    /// Returns a time in µs since 1970. The limit prevents overflows of readers.
    func time(_ name: String) throws(PayloadError) -> Timestamp {
        let time: Timestamp = try required(name)
        guard (0..<1 << 53).contains(time.microseconds) else {
            throw PayloadError("'\(name)' is not a time in µs since 1970")
        }
        return time
    }
}
