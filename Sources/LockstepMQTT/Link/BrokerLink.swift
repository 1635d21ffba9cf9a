import Dispatch
import Synchronization

/// Keeps a program connected to its broker: connects, waits with backoff and jitter when that fails, and connects again
/// when a connection ends.
///
/// Belongs to one loop on one thread, which waits with ``wait(until:)``, calls ``read(limit:)`` when there is
/// something, and ``write()`` when everything due is done. Only the TCP and TLS connect, which may take
/// minutes, happens on another thread.
public final class BrokerLink {
    public enum Event: Sendable {
        case connected(MQTTVersion, sessionPresent: Bool)
        /// A connection that was up has ended.
        case disconnected(MQTTError, retryIn: Duration)
        /// No connection came about.
        case failed(MQTTError, retryIn: Duration)
        case published(id: Int32, refusal: MQTTError?)
        case subscribed(id: Int32, isGranted: Bool)
    }

    private enum State {
        case waiting(until: ContinuousClock.Instant)
        case connecting(Attempt)
        /// TCP is there, the broker's word is not.
        case greeting(MQTTConnection, until: ContinuousClock.Instant)
        case up(MQTTConnection)
        case stopped
    }

    public let wakeup: Wakeup
    /// Called for every message, from within ``read(limit:)``. To be set before the first read: a connection takes it over
    /// when it comes about.
    public var onMessage: ((IncomingMessage) -> Void)?
    /// Asked before each try to connect, once its wait is over: false for another wait.
    public var mayConnect: () -> Bool = { true }
    public var version: MQTTVersion { choice.version }

    private let makeOptions: (MQTTVersion) -> MQTTOptions
    private var choice: VersionChoice
    private var backoff: Backoff
    private var generator = SystemRandomNumberGenerator()
    private var state: State
    private var nextKeepAlive = ContinuousClock.now
    private var upSince = ContinuousClock.now
    private var takeover = TakeoverDetector()
    /// The broker's address, to check whether it still listens after the connection is lost.
    private var peer: PeerAddress?

    /// - Parameters:
    ///   - version: the version to speak; nil for 5, or 3.1.1 with a broker that refuses 5.
    ///   - makeOptions: gives the options of each attempt.
    public init(
        wakeup: Wakeup, version: MQTTVersion?, backoff: Backoff = Backoff(),
        makeOptions: @escaping (MQTTVersion) -> MQTTOptions
    ) {
        self.wakeup = wakeup
        choice = VersionChoice(version)
        self.backoff = backoff
        self.makeOptions = makeOptions
        state = .waiting(until: .now)
    }

    public var isUp: Bool {
        if case .up = state { true } else { false }
    }

    /// Bytes of the largest packet that the broker takes; nil where it has not told, or the link is not up.
    public var maximumPacketSize: Int? {
        if case .up(let connection) = state { connection.maximumPacketSize } else { nil }
    }

    /// What to poll, and whether for writing too; nil while there is no connection.
    var socket: (descriptor: Int32, wantsWrite: Bool)? {
        switch state {
        case .waiting, .connecting, .stopped: nil
        case .greeting(let connection, _), .up(let connection):
            connection.descriptor.map { ($0, connection.wantsWrite) }
        }
    }

    /// Waits for something to do: a message, room to write, a signal, the deadline, or a time of the link's own.
    /// - Returns: whether there is something to read.
    @discardableResult
    public func wait(until deadline: ContinuousClock.Instant) -> Bool {
        switch state {
        case .waiting(let retry): wakeup.wait(for: nil, until: min(deadline, retry))
        case .connecting, .stopped: wakeup.wait(for: nil, until: deadline)
        case .greeting, .up: wakeup.wait(for: socket, until: min(deadline, nextKeepAlive))
        }
    }

    /// Waits for more to read, while what waits to be written goes on waiting.
    /// - Returns: whether there is.
    public func waitToRead(until deadline: ContinuousClock.Instant) -> Bool {
        guard case .up(let connection) = state, let descriptor = connection.descriptor else { return false }
        return wakeup.wait(for: (descriptor, wantsWrite: false), until: deadline)
    }

    /// Whether something waits that could not be sent yet.
    public var wantsWrite: Bool { socket?.wantsWrite ?? false }

    /// Waits until a signal or the deadline, whatever comes from the broker.
    public func rest(until deadline: ContinuousClock.Instant) { wakeup.wait(for: nil, until: deadline) }

    /// Goes on with connecting, and takes in messages, about `limit` at the most.
    public func read(limit: Int = 100, while mayGoOn: () -> Bool = { true }) -> [Event] {
        let now = ContinuousClock.now
        switch state {
        case .stopped: return []
        case .waiting(let retry):
            guard now >= retry else { return [] }
            guard mayConnect() else {
                state = .waiting(until: now + backoff.next(using: &generator))
                return []
            }
            state = .connecting(Attempt(makeOptions(version), wakeup: wakeup))
            return []
        case .connecting(let attempt):
            switch attempt.outcome {
            case nil: return []
            case .failure(let error): return [fail(error)]
            case .success(let connection):
                connection.onMessage = onMessage
                state = .greeting(connection, until: now + .seconds(20))
                nextKeepAlive = now
                return digest(connection.read(limit: limit, while: mayGoOn))
            }
        case .greeting(let connection, let deadline):
            let events = digest(connection.read(limit: limit, while: mayGoOn) + keepAlive(connection, now))
            guard events.isEmpty, now >= deadline else { return events }
            return [fail(MQTTError(.refused, "the broker does not answer the greeting: is it an MQTT broker?"))]
        case .up(let connection):
            return digest(connection.read(limit: limit, while: mayGoOn) + keepAlive(connection, now))
        }
    }

    /// Sends what waits: acknowledgements of what was read, and what was published.
    public func write() -> [Event] {
        switch state {
        case .greeting(let connection, _), .up(let connection): digest(connection.write())
        case .waiting, .connecting, .stopped: []
        }
    }

    /// - Returns: the id of the message, nil when the link is not up: then nothing was taken.
    @discardableResult
    public func publish(_ message: MQTTMessage) throws(MQTTError) -> Int32? {
        guard case .up(let connection) = state else { return nil }
        return try connection.publish(message)
    }

    @discardableResult
    public func subscribe(to filter: String, qos: QualityOfService) throws(MQTTError) -> Int32? {
        guard case .up(let connection) = state else { return nil }
        return try connection.subscribe(to: filter, qos: qos)
    }

    /// Ends the connection without a goodbye and without letting out what waits, and tries again after a backoff: the
    /// broker hands out again what was not acknowledged.
    public func abandon(_ reason: MQTTError) -> Event { lose(reason) }

    /// Says goodbye and connects anew, with new options, at once.
    public func reconnect() {
        stop(until: .now + .seconds(1))
        state = .waiting(until: .now)
    }

    /// Says goodbye, waits for it to leave, until the deadline, and stays down.
    public func stop(until deadline: ContinuousClock.Instant) {
        if case .up(let connection) = state {
            connection.disconnect()
            while connection.descriptor != nil, ContinuousClock.now < deadline {
                if connection.write().contains(where: { if case .ended = $0 { true } else { false } }) { break }
                wakeup.wait(for: connection.descriptor.map { ($0, true) }, until: deadline)
                if connection.read(limit: 1).contains(where: { if case .ended = $0 { true } else { false } }) { break }
            }
        }
        state = .stopped
    }

    private func keepAlive(_ connection: MQTTConnection, _ now: ContinuousClock.Instant) -> [MQTTConnection.Event] {
        guard now >= nextKeepAlive else { return [] }
        nextKeepAlive = now + .seconds(1)
        return connection.keepAlive()
    }

    private func digest(_ events: [MQTTConnection.Event]) -> [Event] {
        events.compactMap { event in
            switch event {
            case .connected(let sessionPresent):
                guard case .greeting(let connection, _) = state else { return nil }
                state = .up(connection)
                upSince = .now
                peer = connection.descriptor.flatMap { PeerAddress(of: $0) }
                takeover.didConnect(
                    hasLostSession: connection.options.keepsSession && !sessionPresent, at: upSince)
                return .connected(version, sessionPresent: sessionPresent)
            case .published(let id, let refusal): return .published(id: id, refusal: refusal)
            case .subscribed(let id, let isGranted): return .subscribed(id: id, isGranted: isGranted)
            case .ended(let error): return isUp ? lose(error) : fail(error)
            }
        }
    }

    private func fail(_ error: MQTTError) -> Event {
        choice.didFail(error.code)
        takeover.didFail()
        let wait = backoff.next(using: &generator)
        state = .waiting(until: .now + wait)
        return .failed(error, retryIn: wait)
    }

    private func lose(_ error: MQTTError) -> Event {
        choice.didLose()
        let error = judged(error)
        // Two clients with one id would else throw each other out without end, several times a second.
        let wait = error.code == .takenOver ? backoff.longest : backoff.next(using: &generator)
        state = .waiting(until: .now + wait)
        return .disconnected(error, retryIn: wait)
    }

    /// Returns the error, or a takeover if another client with the same id has ended the connection.
    private func judged(_ error: MQTTError) -> MQTTError {
        if ContinuousClock.now - upSince >= TakeoverDetector.maxDuration { backoff.reset() }
        let isTakenOver = takeover.didLose(error.code, isListening: peer?.isListening() ?? false, at: .now)
        guard isTakenOver, error.code != .takenOver else { return error }
        return MQTTError(.takenOver, "another client seems to use the same client id")
    }
}

/// A TCP and TLS connect on a thread of its own, with its outcome.
private final class Attempt: Sendable {
    /// Locked for as long as it goes on.
    private let result = Mutex<Result<MQTTConnection, MQTTError>?>(nil)

    init(_ options: MQTTOptions, wakeup: Wakeup) {
        DispatchQueue.global().async { [self] in
            result.withLock { result in
                do throws(MQTTError) {
                    let connection = try MQTTConnection(options)
                    try connection.connect()
                    result = .success(connection)
                } catch {
                    result = .failure(error)
                }
            }
            wakeup.signal()
        }
    }

    /// Nil while it goes on. Takes the connection out: the second call has none.
    var outcome: Result<MQTTConnection, MQTTError>? {
        result.withLockIfAvailable { $0.take() } ?? nil
    }
}
