/// What a target of rules does with the recorded sessions of the group of an event.
///
/// Times are those of events. Names of sessions may have the placeholders `{rule}`, `{group}` and `{device}`.
public enum RecordAction: Sendable, Hashable {
    /// Starts a session, unless one with its name is running.
    case start(Start)
    /// Marks the sessions with this name that contain the time, or without a name those of the device of the event.
    case mark(session: String?)
    /// Stops the running sessions with this name.
    case stop(session: String)

    /// The session that is started.
    public struct Start: Sendable, Hashable {
        /// The name.
        public var session: String
        /// The time from its start to the event, in µs.
        public var before: Int64 = 0
        /// The time from its start after which it stops by itself, in µs, or nil.
        public var length: Int64?
        /// Whether all devices of the group take part, and not only that of the event.
        public var includesGroup = false
        /// The rate of each stream, by name, in samples per second.
        public var rates: [String: Double] = [:]
        /// The labels.
        public var labels: [String: String] = [:]

        /// Creates a session of the device of the event, which begins with it.
        public init(session: String) { self.session = session }
    }

    /// The placeholders of names of sessions, in braces.
    package static let placeholders = ["rule", "group", "device"]
}
