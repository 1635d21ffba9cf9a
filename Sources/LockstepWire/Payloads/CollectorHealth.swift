public import FoundationEssentials
public import LockstepModel

/// How a collector is: retained on `{root}/{group}/$collector/{id}`, and its last will.
public struct CollectorHealth: Hashable, Sendable, Codable {
    public enum Status: String, Sendable, Codable {
        case online
        /// Takes nothing in for now, and acknowledges nothing: see ``CollectorHealth/problem``.
        case stalled
        case offline
    }

    public var status: Status
    public var at: Timestamp
    /// What keeps it from storing: a full disk, say.
    public var problem: String?
    public var devices: Int
    /// Since it started.
    public var stored: Int
    public var duplicates: Int
    public var conflicts: Int
    public var rejected: Int
    /// Samples that agents say they had to drop; nil from a collector that does not tell.
    public var dropped: Int64?
    /// Of the program; nil from one that does not tell.
    public var version: String?
    /// When it started, on its own clock: the counts are from then on. Nil in its last will.
    public var started: Timestamp?
    /// Bytes of resident memory, now and at most; nil where the collector does not know.
    public var memory: Int?
    public var memoryPeak: Int?

    enum CodingKeys: String, CodingKey {
        case status, at, problem, devices, stored, duplicates, conflicts, rejected, dropped, version, started, memory
        case memoryPeak = "memory_peak"
    }

    public init(
        status: Status, at: Timestamp, problem: String? = nil, devices: Int = 0, stored: Int = 0, duplicates: Int = 0,
        conflicts: Int = 0, rejected: Int = 0, dropped: Int64? = nil, version: String? = nil,
        started: Timestamp? = nil, memory: Int? = nil, memoryPeak: Int? = nil
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
    }

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
        return object.finish()
    }

    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(_ payload: Data) throws(PayloadError) -> CollectorHealth {
        do { return try JSONDecoder().decode(CollectorHealth.self, from: payload) } catch {
            throw PayloadError(decoding: error)
        }
    }
}
