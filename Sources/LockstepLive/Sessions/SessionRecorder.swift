public import LockstepModel
import LockstepWire

/// Starts, marks and stops sessions, and follows their states, over the connection of a ``LiveFeed``.
///
/// A collector carries out the requests, as those of `lockstep record`. A session goes on if this program ends.
public struct SessionRecorder: Sendable {
    /// The time that broker and collector have to carry out a request, in µs.
    static let patience: Int64 = 10_000_000

    private let feed: LiveFeed

    /// Creates a recorder. ``LiveFeed/run()`` must be running while it is used.
    public init(_ feed: LiveFeed) { self.feed = feed }

    /// Starts a session of devices of a group.
    ///
    /// The session is still preparing then: wait in ``updates(of:)`` until it is neither preparing nor armed if the devices must be
    /// ready.
    /// - Parameters:
    ///   - name: the name for people. The id is made from it, with random characters at its end.
    ///   - group: the group of the devices.
    ///   - devices: the devices; nil for all of the group, also those that appear later.
    ///   - configure: changes what was not given, for example rates and labels.
    /// - Returns: the session as the collector has stored it.
    /// - Throws: ``CommandError``.
    public func start(
        _ name: String, group: GroupID = .standard, devices: Set<DeviceID>? = nil,
        configure: (inout RecordingSession) -> Void = { _ in }
    ) async throws(CommandError) -> RecordingSession {
        let base = SessionID.named(name) { _ in false }.rawValue.prefix(41)
        let id = SessionID(unchecked: "\(base)-\("\(Epoch.random())".prefix(6))")
        var session = RecordingSession(key: .init(group: group, id: id), name: name, created: Moment.now().wall)
        session.includesGroup = devices == nil
        for device in devices ?? [] { session.devices[device] = .init(joined: session.created) }
        configure(&session)
        return try await send(.start(session), to: session.key) { _ in true }
    }

    /// Adds a marker, now on the clock of this machine, or replaces that with the same id.
    /// - Parameters:
    ///   - text: the text.
    ///   - key: the session.
    ///   - configure: changes what was not given, for example the time, a device, or the length of an interval.
    /// - Returns: the marker that the collector has stored.
    /// - Throws: ``CommandError``.
    @discardableResult
    public func mark(
        _ text: String, in key: RecordingSession.Key, configure: (inout RecordingSession.Marker) -> Void = { _ in }
    ) async throws(CommandError) -> RecordingSession.Marker {
        var marker = RecordingSession.Marker(
            id: "\(Epoch.random())", time: Moment.now().wall, clock: .client, text: text)
        configure(&marker)
        marker.clock = .client
        let expected = marker
        _ = try await send(.mark(marker), to: key) { $0.confirms(expected) }
        return marker
    }

    /// Stops a session, and waits until it is complete or incomplete. An incomplete session becomes complete by itself when what
    /// is missing arrives.
    /// - Throws: ``CommandError``.
    public func stop(_ key: RecordingSession.Key) async throws(CommandError) -> RecordingSession {
        _ = try await send(.stop, to: key) { $0.end != nil }
        for await session in updates(of: key) where !session.isRunning { return session }
        throw Task.isCancelled || feed.picture.isClosed ? .cancelled : .sessionDeleted
    }

    /// The states of a session, with its newest 100 markers: the present one, if the broker has sent it, and then each new one.
    /// The sequence ends when the session is deleted or the feed has ended. A reader that is slow misses states.
    public func updates(of key: RecordingSession.Key) -> AsyncStream<RecordingSession> { feed.picture.updates(of: key) }

    /// Sends a request, and waits for the state that shows that a collector has carried it out.
    private func send(
        _ request: SessionRequest, to key: RecordingSession.Key,
        until isDone: @escaping @Sendable (RecordingSession) -> Bool
    ) async throws(CommandError) -> RecordingSession {
        let begin = Moment.now().boot
        try await feed.requests.publish(
            SessionJSON.encode(request), to: feed.root.topic(key, request.verb), timeout: Self.patience,
            waitsForConnection: true)
        let left = max(0, begin + Self.patience - Moment.now().boot)
        let states = updates(of: key)
        let found = await withTaskGroup(of: RecordingSession?.self) { group in
            group.addTask {
                for await session in states where isDone(session) { return session }
                return nil
            }
            group.addTask {
                try? await Task.sleep(for: .microseconds(left))
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard let found else {
            throw Task.isCancelled || feed.picture.isClosed ? .cancelled : .notRecorded(group: "\(key.group)")
        }
        return found
    }
}
