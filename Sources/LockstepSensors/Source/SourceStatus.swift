public import LockstepMotion

/// The state of a sensor source.
public enum SourceStatus: Sendable, Hashable {
    /// The source provides samples.
    case running
    /// The source provides samples of reduced quality, for example of a saturated sensor.
    case degraded(String)
    /// The source is connected but provides no samples, for example without a fix.
    case waiting(String)
    /// The newest sample is old.
    case stale(String)
    /// The source cannot reach its hardware or daemon, and keeps retrying.
    case unavailable(String)
    /// The recording has been played to its end.
    case ended
}

extension SourceStatus: CustomStringConvertible {
    /// The status as a phrase, with the reason.
    public var description: String {
        switch self {
        case .running: "running"
        case .degraded(let reason): "degraded: \(reason)"
        case .waiting(let reason): reason
        case .stale(let reason): "stale: \(reason)"
        case .unavailable(let reason): "unavailable: \(reason)"
        case .ended: "ended"
        }
    }
}

extension SourceStatus {
    /// The location error that corresponds to this status of a location source; nil if the source runs or has ended.
    ///
    /// A status contains only a text. Reasons that mention permissions become
    /// ``/LockstepMotion/LocationError/denied(_:)``.
    public var locationError: LocationError? {
        switch self {
        case .running, .degraded, .ended: return nil
        case .waiting(let reason): return isAboutPermission(reason) ? .denied(reason) : .locationUnknown(reason)
        case .stale(let reason): return .locationUnknown(reason)
        case .unavailable(let reason): return isAboutPermission(reason) ? .denied(reason) : .network(reason)
        }
    }

    private func isAboutPermission(_ text: String) -> Bool {
        let words = ["permission", "not permitted", "denied", "not allowed", "unauthorized"]
        let text = text.lowercased()
        return words.contains { text.contains($0) }
    }
}

/// Counts what could not be used as it came, for the status of a source: a warning is part of the status for a minute after
/// its last occurrence.
///
/// It may occur with each sample, so its text changes only when its count has doubled.
struct StatusWarnings<Kind: Hashable & CaseIterable & Sendable>: Sendable {
    private struct Entry {
        var count = 0
        var text = ""
        var last: Int64 = 0
    }

    /// How long a warning lasts after its last occurrence, in µs.
    static var duration: Int64 { 60_000_000 }

    private var entries: [Kind: Entry] = [:]

    func count(of kind: Kind) -> Int { entries[kind]?.count ?? 0 }

    /// Counts an occurrence at `now`, in µs.
    /// - Parameter text: The warning for a count.
    mutating func add(_ kind: Kind, at now: Int64, text: (Int) -> String) {
        var entry = entries[kind] ?? Entry()
        entry.count += 1
        entry.last = now
        if entry.count.nonzeroBitCount == 1 { entry.text = text(entry.count) }
        entries[kind] = entry
    }

    /// Returns the current warnings, in the order of their kinds.
    func texts(at now: Int64) -> [String] {
        Kind.allCases.compactMap { entries[$0] }.filter { now - $0.last < Self.duration }.map(\.text)
    }
}
