import LockstepModel
import LockstepStore
import LockstepWire

/// The recorded sessions of a collector, including the uncommitted changes of the current transaction.
///
/// Changes are provisional until they are on disk: ``commit()`` keeps them, ``rollback()`` reverts them. Requests to devices
/// and states are published only then.
struct SessionRegistry {
    /// The maximum number of sessions, and of markers of one, because each takes memory.
    static let maxSessions = 10_000
    static let maxMarkers = 10_000
    /// The interval between two ticks, between two reads of batch numbers, and between two publications of figures, in µs.
    private static let tickInterval: Int64 = 200_000
    private static let secondInterval: Int64 = 1_000_000
    /// The maximum number of states that are published at once.
    private static let maxStates = 100

    /// A request to a device, to be published.
    struct Command: Equatable {
        let device: DeviceAddress
        let request: AgentRequest
    }

    private var machines: [RecordingSession.Key: SessionMachine]
    /// The sessions that can still change by themselves, by group.
    private var open: [GroupID: Set<RecordingSession.Key>] = [:]
    /// The changed machines of the current transaction as they were before it; nil for a new one.
    private var before: [RecordingSession.Key: SessionMachine?] = [:]
    private var markers: [(session: RecordingSession.Key, marker: RecordingSession.Marker)] = []
    private var splits: [(session: RecordingSession.Key, markers: [String])] = []
    /// The sessions whose machines may have changed what is stored since the last group was taken.
    private var touched: Set<RecordingSession.Key> = []
    /// What was written of each session last.
    private var written: [RecordingSession.Key: RecordingSession] = [:]
    private var commands: [Command] = []
    /// The calibration that each device announced last, for sessions that it becomes part of.
    private var calibrations: [DeviceAddress: InertialCalibration] = [:]
    /// The sessions whose state is to be published.
    private var unpublished: Set<RecordingSession.Key>
    private var (nextTick, nextRead, nextFigures): (Int64, Int64, Int64) = (.min, .min, .min)

    init(_ sessions: [RecordingSession] = [], at moment: Moment) {
        machines = Dictionary(uniqueKeysWithValues: sessions.map { ($0.key, SessionMachine($0, at: moment)) })
        unpublished = Set(machines.keys)
        for session in sessions {
            written[session.key] = session.withoutFigures
            index(session)
        }
    }

    /// Whether a session can still change by itself.
    var isActive: Bool { !open.isEmpty }

    /// Whether something is to be written.
    var hasChanges: Bool { !touched.isEmpty || !markers.isEmpty }

    /// Returns a session, with the changes of the current transaction.
    subscript(key: RecordingSession.Key) -> RecordingSession? { machines[key]?.session }

    /// Returns the sessions of a group, with the changes of the current transaction.
    func sessions(of group: GroupID) -> [RecordingSession] {
        machines.values.compactMap { $0.session.key.group == group && $0.session.state != .deleted ? $0.session : nil }
    }

    // MARK: Requests

    /// - Parameter known: the devices of the group that are not forgotten, for a session of all of them.
    /// - Throws: the reason for a rejection.
    mutating func handle(
        _ request: SessionRequest, of key: RecordingSession.Key, known: () -> [DeviceID], at moment: Moment
    ) throws(PayloadError) {
        if case .start(var session) = request {
            // The broker may deliver a request again.
            guard machines[key] == nil else { return }
            guard machines.count < Self.maxSessions else {
                throw PayloadError("there are \(Self.maxSessions) sessions: delete some with 'lockstep record delete'")
            }
            if session.includesGroup {
                let devices = known()
                guard devices.count <= SessionMachine.maxDevices else {
                    throw PayloadError(
                        "the group has \(devices.count) devices: name at most \(SessionMachine.maxDevices)")
                }
                for id in devices { session.devices[id] = .init(joined: moment.wall) }
            }
            // What is over cannot wait for devices.
            if session.start != nil { session.state = .recording }
            var machine = SessionMachine(session, at: moment)
            for device in session.addresses { machine.didCalibrate(device.device, calibrations[device]) }
            before[key] = .some(nil)
            machines[key] = machine
            index(session)
            touched.insert(key)
            nextTick = .min
            nextRead = .min
            return
        }
        guard machines[key] != nil, machines[key]?.session.state != .deleted else {
            // A request to delete may be delivered again.
            if request == .delete {
                // The broker may still have its state, if the collector was killed. An unknown session is published as deleted.
                if machines[key] == nil { unpublished.insert(key) }
                return
            }
            throw PayloadError("there is no session '\(key.id)' in the group '\(key.group)'")
        }
        if case .split(let time, let id, let name) = request {
            return try split(key, at: time, into: id, name: name ?? id.rawValue, at: moment)
        }
        if case .mark(let marker) = request {
            guard let known = machines[key]?.session.markers,
                known.count < Self.maxMarkers || known.contains(where: { $0.id == marker.id })
            else {
                throw PayloadError("the session has \(Self.maxMarkers) markers")
            }
            markers.append((key, marker))
        }
        if case .edit(_, let labels, _) = request, var all = machines[key]?.session.labels {
            for (label, value) in labels { all[label] = value }
            guard all.count <= SessionJSON.maxLabels else {
                throw PayloadError("a session has at most \(SessionJSON.maxLabels) labels")
            }
        }
        change(key) { machine in
            switch request {
            case .start, .split: break
            case .mark(let marker): machine.mark(marker)
            case .stop: machine.stop(at: moment)
            case .edit(let name, let labels, let note): machine.edit(name: name, labels: labels, note: note)
            case .delete: machine.delete()
            }
        }
        nextTick = .min
        nextRead = .min
    }

    /// Divides a session that has ended.
    /// - Throws: the reason for a rejection.
    private mutating func split(
        _ key: RecordingSession.Key, at time: Timestamp, into id: SessionID, name: String, at moment: Moment
    ) throws(PayloadError) {
        let second = RecordingSession.Key(group: key.group, id: id)
        if let other = machines[second]?.session {
            // The broker may deliver a request again. Meanwhile, the first part may have been split once more.
            guard second != key, other.state != .deleted, other.start == time,
                machines[key]?.session.end.map({ $0 <= time }) == true
            else { throw PayloadError("there is a session '\(id)' in the group '\(key.group)'") }
            // A collector that was killed may have left markers in the first part.
            var moved: [RecordingSession.Marker] = []
            let end = other.end ?? time
            change(key) { moved = $0.removeMarkers(from: time, to: end) }
            guard !moved.isEmpty else { return }
            let lacking = moved.filter { marker in !other.markers.contains { $0.id == marker.id } }
            change(second) { machine in for marker in lacking { machine.mark(marker) } }
            move(moved, from: key)
            markers += lacking.map { (second, $0) }
            return
        }
        guard let session = machines[key]?.session, let start = session.start, let end = session.end,
            !session.isRunning
        else { throw PayloadError("only a session that has ended can be split") }
        guard start < time, time < end else {
            throw PayloadError("'t' must be between start and end of the session, \(start) and \(end)")
        }
        guard machines.count < Self.maxSessions else {
            throw PayloadError("there are \(Self.maxSessions) sessions: delete some with 'lockstep record delete'")
        }
        var rest: RecordingSession?
        change(key) { rest = $0.split(at: time, into: second, name: name) }
        guard let rest else { return }
        before[second] = .some(nil)
        machines[second] = SessionMachine(rest, at: moment)
        index(rest)
        touched.insert(second)
        move(rest.markers, from: key)
        markers += rest.markers.map { (second, $0) }
        nextTick = .min
        nextRead = .min
    }

    /// Notes that markers have left a session for another one.
    private mutating func move(_ moved: [RecordingSession.Marker], from key: RecordingSession.Key) {
        guard !moved.isEmpty else { return }
        let ids = moved.map(\.id)
        markers.removeAll { $0.session == key && ids.contains($0.marker.id) }
        splits.append((key, ids))
    }

    // MARK: Observations

    /// Adds what a group contains to the sessions, and what has changed of sessions to the group.
    mutating func complete(_ group: inout IngestGroup, at moment: Moment) {
        if isActive {
            for run in group.runs {
                guard let keys = open[run.device.group] else { continue }
                for key in keys where machines[key]?.concerns(run.device.device) == true {
                    // Otherwise only figures change, without a copy of the session.
                    guard machines[key]?.isAffected(by: run) == true else {
                        machines[key]?.receive(run, at: moment)
                        continue
                    }
                    let calibration = calibrations[run.device]
                    change(key) { machine in
                        if run.batches.last?.isLive == true {
                            machine.join(run.device.device, calibration, at: moment)
                        }
                        machine.receive(run, at: moment)
                    }
                }
            }
            for clock in group.clocks { observe(clock.device) { $0.receive(clock.point, of: clock.device.device) } }
            for change in group.transitions {
                let (to, reason) = (change.transition.to, change.transition.reason)
                if to == .active || to == .resumed {
                    observe(change.device) { $0.didReturn(change.device.device) }
                } else if to == .terminated || ["connection-lost", "silent"].contains(reason) {
                    didLeave(change.device)
                }
            }
            for key in group.reports.keys { observe(key.device) { $0.didReport(key.device.device) } }
        }
        for key in touched {
            guard let session = machines[key]?.session, written[key] != session.withoutFigures else { continue }
            written[key] = session.withoutFigures
            group.sessions.append(session)
        }
        touched = []
        group.splits += splits
        splits = []
        group.markers += markers
        markers = []
    }

    mutating func receive(_ reply: AgentReply, of device: DeviceAddress, at moment: Moment) {
        guard let keys = open[device.group], let id = reply.id else { return }
        for key in keys where id.hasPrefix(SessionMachine.client(key.id) + "/") {
            change(key) { $0.receive(reply, of: device.device, at: moment) }
        }
    }

    /// Receives the calibration in the presence of a device.
    mutating func receive(_ calibration: InertialCalibration?, of device: DeviceAddress) {
        calibrations[device] = calibration
        observe(device) { $0.didCalibrate(device.device, calibration) }
    }

    /// The connection of a device has ended, also before the start of this process.
    mutating func didLeave(_ device: DeviceAddress) { observe(device) { $0.didLeave(device.device) } }

    private mutating func observe(_ device: DeviceAddress, _ body: (inout SessionMachine) -> Void) {
        for key in open[device.group] ?? [] where machines[key]?.concerns(device.device) == true { change(key, body) }
    }

    // MARK: Time

    /// Advances the time of sessions.
    /// - Parameters:
    ///   - isInTransaction: whether the store has a part of a transaction. Then it is not asked.
    ///   - numbers: returns the committed batch numbers of a device, or nil if the store does not answer.
    mutating func tick(
        at moment: Moment, isInTransaction: Bool, numbers: (DeviceAddress) -> [Epoch: BatchNumbers]?
    ) {
        guard isActive, moment.boot >= nextTick else { return }
        if !isInTransaction { readNumbers(at: moment, numbers: numbers) }
        nextTick = moment.boot + Self.tickInterval
        let showsFigures = moment.boot >= nextFigures
        if showsFigures { nextFigures = moment.boot + Self.secondInterval }
        for key in open.values.flatMap(\.self) where machines[key]?.isWaiting(at: moment) != true {
            var due: [SessionMachine.Command] = []
            change(key) { due = $0.tick(at: moment) }
            commands += due.map {
                Command(device: DeviceAddress(group: key.group, device: $0.device), request: $0.request)
            }
            if showsFigures, machines[key]?.session.isRunning == true { unpublished.insert(key) }
        }
    }

    /// Reads batch numbers for 50 ms at most; the others follow. Call it between two transactions.
    mutating func readNumbers(at moment: Moment, numbers: (DeviceAddress) -> [Epoch: BatchNumbers]?) {
        guard isActive, moment.boot >= nextRead else { return }
        nextRead = moment.boot + Self.secondInterval
        let end = ContinuousClock.now + .milliseconds(50)
        // In another order each time, so that none waits for ever.
        for key in open.values.flatMap(\.self).shuffled() {
            for id in (machines[key]?.devicesWithoutNumbers ?? []).shuffled() {
                guard let found = numbers(DeviceAddress(group: key.group, device: id)) else {
                    // The store does not answer.
                    nextRead = moment.boot + 10 * Self.secondInterval
                    return
                }
                change(key) { $0.didRead(found, of: id) }
                guard ContinuousClock.now < end else {
                    nextRead = moment.boot + Self.tickInterval
                    return
                }
            }
        }
    }

    // MARK: Transactions

    mutating func commit() {
        for key in before.keys {
            unpublished.insert(key)
            if let session = machines[key]?.session { index(session) }
        }
        before = [:]
    }

    mutating func rollback() {
        for (key, machine) in before {
            machines[key] = machine
            written[key] = machine?.session.withoutFigures
            close(key)
            if let machine { index(machine.session) }
        }
        before = [:]
        touched = []
        markers = []
        splits = []
        commands = []
    }

    /// Publishes all states again: the broker may have lost them.
    mutating func didConnect() { unpublished = Set(machines.keys) }

    /// Takes the requests to devices and the states to publish. A deleted session is nil.
    mutating func takeMessages() -> (
        commands: [Command], states: [(key: RecordingSession.Key, session: RecordingSession?)]
    ) {
        // What is not committed could still change.
        guard before.isEmpty else { return ([], []) }
        defer { commands = [] }
        let keys = unpublished.prefix(Self.maxStates)
        let states = keys.map { key in (key, machines[key].map(\.session)) }
        for (key, session) in states {
            unpublished.remove(key)
            if session?.state == .deleted { (machines[key], written[key]) = (nil, nil) }
        }
        return (commands, states.map { ($0, $1?.state == .deleted ? nil : $1) })
    }

    /// Changes a machine as part of the current transaction.
    private mutating func change(_ key: RecordingSession.Key, _ body: (inout SessionMachine) -> Void) {
        guard var machine = machines[key] else { return }
        let earlier = machine
        machines[key] = nil
        body(&machine)
        machines[key] = machine
        guard machine.session != earlier.session,
            machine.session.withoutFigures != earlier.session.withoutFigures
                || machine.session.markers != earlier.session.markers
        else { return }
        if before[key] == nil { before[key] = .some(earlier) }
        touched.insert(key)
    }

    private mutating func index(_ session: RecordingSession) {
        // Of an imported session that is incomplete, nobody knows which batches belong to it.
        let isFinal = session.state == .incomplete && session.devices.values.allSatisfy { $0.firstNumbers == nil }
        if session.state == .complete || session.state == .deleted || isFinal {
            close(session.key)
        } else {
            open[session.key.group, default: []].insert(session.key)
        }
    }

    private mutating func close(_ key: RecordingSession.Key) {
        open[key.group]?.remove(key)
        if open[key.group]?.isEmpty == true { open[key.group] = nil }
    }
}

extension RecordingSession {
    /// The session without what changes all the time, and without its markers, which are written one by one.
    fileprivate var withoutFigures: RecordingSession {
        var session = self
        session.markers = []
        for id in devices.keys {
            session.devices[id]?.rates = [:]
            session.devices[id]?.clockBound = nil
            // It has figures, and is observed again after a restart.
            if state == .preparing { session.devices[id]?.problem = nil }
        }
        return session
    }
}
