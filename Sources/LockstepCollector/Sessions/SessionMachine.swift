import LockstepModel
import LockstepStore
import LockstepWire

/// The decisions about one recorded session: requests, what devices send, and times in; requests to devices out.
///
/// A session is a range of time. Samples are stored whether it runs or not, so nothing here can lose any. What it decides is
/// when all devices are ready, and whether everything that they have accepted until the end is stored. Each device numbers its
/// batches in the order in which it accepts them, over all streams. So a device is complete when it has reported after the end
/// which number its newest batch has, and each number up to it is stored.
///
/// Only ``session`` has to survive a restart. The rest is observed again: leases are asked for again, and devices report the
/// number of their newest batch again, which can only be higher.
struct SessionMachine {
    /// The length of a lease. A collector that is away for less loses no rate.
    static let leaseLength = 300.0
    /// The time between two requests to a device that has answered, or has not, in µs.
    static let renewal: Int64 = 60_000_000
    static let retry: Int64 = 5_000_000
    /// The time between the moment at which all devices are ready and the start, in µs.
    static let countdown: Int64 = 1_000_000
    /// The time from the end to the first requests about it, in µs. Until then, devices read the last samples before the end,
    /// at the asked rates.
    static let lastSamples: Int64 = 500_000
    /// The greatest number of further requests to a device that has returned and does not answer, each after twice the time.
    static let maxAttempts = 8
    /// The time after the end from which what is on its way makes the session incomplete for now, in µs.
    static let grace: Int64 = 30_000_000
    /// The time without samples from which a device counts as silent, in µs.
    static let silence: Int64 = 10_000_000
    /// A live batch that arrives so long after the end was accepted after it, in µs. For devices that answer no requests.
    static let liveDelay: Int64 = 10_000_000
    /// The part of an asked rate at which a stream counts as arriving.
    static let tolerance = 0.9

    static let maxDevices = 1000

    /// A request to a device.
    struct Command: Equatable {
        let device: DeviceID
        let request: AgentRequest
    }

    /// What was observed of a device since the start of this process.
    private struct Observation {
        /// The time of the next request, in µs of the boot clock.
        var nextRequest = Int64.min
        var hasAnswered = false
        /// The number of requests for its newest batch numbers since it has returned.
        var attempts = 0
        /// Whether its connection has ended: nothing more comes before it returns.
        var isOffline = false
        /// Why the device has refused a request, or nil.
        var refusal: String?
        /// The last live sample of each stream, in µs.
        var newest: [String: Int64] = [:]
        /// The time of the last samples, in µs of the boot clock.
        var heard: Int64?
        var clock: ClockPoint?
        /// Whether its batch numbers may have changed.
        var needsNumbers = true
    }

    private(set) var session: RecordingSession
    private var observed: [DeviceID: Observation] = [:]
    /// The number of requests, for their ids.
    private var requests: Int64
    /// Whether something was observed since the last tick that can make the session complete.
    private var isJudgementDue = true
    /// The time that is compared with start and end, minus the boot clock, in µs. It is set together with these, so that waits
    /// do not depend on steps of the clock.
    private var clockOffset: Int64

    init(_ session: RecordingSession, at moment: Moment) {
        self.session = session
        requests = moment.wall.microseconds
        clockOffset = moment.wall.microseconds - moment.boot
        for id in session.devices.keys { observed[id] = Observation(heard: moment.boot) }
    }

    /// The name with which devices know the session, which is also the start of the ids of requests.
    static func client(_ id: SessionID) -> String { "session/\(id)" }

    // MARK: Requests

    mutating func mark(_ marker: RecordingSession.Marker) { session.add(marker) }

    mutating func stop(at moment: Moment) {
        guard [.preparing, .armed, .recording].contains(session.state) else { return }
        let now = moment.wall
        session.end = session.start.map { max(now, $0) } ?? now
        session.start = session.start ?? session.end
        session.state = .stopping
        // After the clock was set back, the end may be ahead of it: the wait begins now.
        clockOffset = (session.end ?? now).microseconds - moment.boot
        for id in session.devices.keys {
            observed[id]?.nextRequest = moment.boot + Self.lastSamples
            observed[id]?.needsNumbers = true
            session.devices[id]?.problem = nil
        }
    }

    mutating func edit(name: String?, labels: [String: String?], note: String?) {
        session.name = name ?? session.name
        for (label, value) in labels { session.labels[label] = value }
        if let note { session.note = note.isEmpty ? nil : note }
    }

    /// Divides a session that has ended, and returns the part from a time on. Both have the batch numbers of the whole session:
    /// each is complete when the whole is, unless a device has sent no samples of its time.
    mutating func split(at time: Timestamp, into key: RecordingSession.Key, name: String) -> RecordingSession {
        // Nobody knows to which part the samples on their way belong.
        for (id, device) in session.devices where device.onItsWay > 0 { session.devices[id]?.hasSamples = true }
        var rest = session
        rest.key = key
        rest.name = name
        rest.start = time
        rest.length = nil
        rest.markers = removeMarkers(from: time)
        session.end = time
        session.length = nil
        return rest
    }

    /// Removes and returns the markers from a time on, up to `end` or all later ones.
    mutating func removeMarkers(from time: Timestamp, to end: Timestamp? = nil) -> [RecordingSession.Marker] {
        func isRemoved(_ marker: RecordingSession.Marker) -> Bool {
            marker.time >= time && end.map { marker.time < $0 } ?? true
        }
        defer { session.markers.removeAll(where: isRemoved) }
        return session.markers.filter(isRemoved)
    }

    mutating func delete() { session.state = .deleted }

    // MARK: Observations

    /// Adds a device of the group, which has just sent something, with the calibration that it has announced last.
    mutating func join(_ device: DeviceID, _ calibration: InertialCalibration?, at moment: Moment) {
        guard session.includesGroup, session.devices[device] == nil, session.devices.count < Self.maxDevices,
            [.preparing, .armed, .recording].contains(session.state)
        else { return }
        session.devices[device] = .init(joined: moment.wall)
        observed[device] = Observation()
        didCalibrate(device, calibration)
    }

    /// The device can be reached again, or has restarted: it does not know its leases.
    mutating func didReturn(_ device: DeviceID) {
        observed[device]?.nextRequest = .min
        observed[device]?.attempts = 0
        observed[device]?.isOffline = false
        didReport(device)
    }

    /// The device has announced the calibration that it applies, or none.
    mutating func didCalibrate(_ device: DeviceID, _ calibration: InertialCalibration?) {
        // A later one says nothing about the samples of the session.
        guard session.end == nil else { return }
        session.devices[device]?.calibration = calibration.map {
            String(decoding: CalibrationJSON.encode($0), as: UTF8.self)
        }
    }

    /// The connection of the device has ended.
    mutating func didLeave(_ device: DeviceID) { observed[device]?.isOffline = true }

    /// The device has reported what is in its outbox.
    mutating func didReport(_ device: DeviceID) {
        if session.end != nil, session.devices[device]?.isSettled == false { observed[device]?.needsNumbers = true }
    }

    /// Whether only an observation can change the session: it is incomplete, and nothing is to be read or asked.
    func isWaiting(at moment: Moment) -> Bool {
        session.state == .incomplete && !isJudgementDue
            && observed.values.allSatisfy { !$0.needsNumbers && moment.boot < $0.nextRequest }
    }

    /// Whether what a device sends can change something. A session may be incomplete for ever.
    func concerns(_ device: DeviceID) -> Bool {
        session.state != .incomplete || session.devices[device]?.problem != nil
    }

    /// Returns whether ``receive(_:at:)`` may change what has to survive a restart. Most runs do not.
    func isAffected(by run: SampleRun) -> Bool {
        guard let batch = run.batches.last else { return false }
        guard let device = session.devices[run.device.device] else {
            return session.includesGroup && session.end == nil && batch.isLive
                && session.devices.count < Self.maxDevices
        }
        if let end = session.end, device.lastNumbers == nil, batch.isLive, batch.receivedAt - end >= Self.liveDelay {
            return true
        }
        return !device.hasSamples && isInside(run)
    }

    /// Whether a sample of a run is between start and end, on the collector's clock.
    private func isInside(_ run: SampleRun) -> Bool {
        guard let start = session.start?.microseconds else { return false }
        let range = start..<max(start, session.end?.microseconds ?? .max)
        let offset = observed[run.device.device]?.clock?.offset ?? 0
        return run.samples.times.contains { range.contains($0 &- offset) }
    }

    mutating func receive(_ run: SampleRun, at moment: Moment) {
        let id = run.device.device
        guard let device = session.devices[id], let last = run.samples.times.last, let batch = run.batches.last else {
            return
        }
        let stream = run.samples.stream.name
        if !device.isSettled, let numbers = device.lastNumbers,
            run.batches.contains(where: { $0.position.map { $0.seq <= numbers[$0.epoch] ?? .max } ?? false })
        {
            observed[id]?.needsNumbers = true
        }
        if !device.hasSamples, isInside(run) {
            session.devices[id]?.hasSamples = true
            observed[id]?.needsNumbers = true
        }
        guard batch.isLive else { return }
        observed[id]?.heard = moment.boot
        if let before = observed[id]?.newest[stream], last > before {
            session.devices[id]?.rates[stream] = Double(run.samples.count) * 1e6 / Double(last - before)
        }
        observed[id]?.newest[stream] = last
        if session.end.map({ batch.receivedAt - $0 >= Self.liveDelay }) == true,
            session.devices[id]?.lastNumbers == nil, let position = batch.position
        {
            session.devices[id]?.lastNumbers = [position.epoch: position.seq]
            observed[id]?.needsNumbers = true
        }
    }

    mutating func receive(_ clock: ClockPoint, of device: DeviceID) { observed[device]?.clock = clock }

    mutating func receive(_ reply: AgentReply, of device: DeviceID, at moment: Moment) {
        guard session.devices[device] != nil else { return }
        observed[device]?.hasAnswered = true
        observed[device]?.refusal = nil
        if session.end == nil { observed[device]?.nextRequest = moment.boot + Self.renewal }
        switch reply.outcome {
        case .failed(let reason): observed[device]?.refusal = reason
        case .leased(let stream, let rate, _):
            if let asked = session.rates[stream.name], (rate ?? 0) < asked * Self.tolerance {
                observed[device]?.refusal = "\(stream.name): the device gives \(Int(rate ?? 0)) of \(Int(asked)) Hz"
            }
        case .flushed:
            guard session.end != nil, let newest = reply.newest else { return }
            session.devices[device]?.lastNumbers = newest
            observed[device]?.needsNumbers = true
        case .phase, .described, .calibrated: break
        }
    }

    /// The devices whose batch numbers are to be read.
    var devicesWithoutNumbers: [DeviceID] {
        switch session.state {
        case .complete, .deleted: []
        case .preparing, .armed, .recording:
            session.devices.filter { $0.value.firstNumbers == nil }.map(\.key)
        case .stopping, .incomplete: observed.filter(\.value.needsNumbers).map(\.key)
        }
    }

    /// Compares what is stored of a device with what belongs to the session.
    mutating func didRead(_ numbers: [Epoch: BatchNumbers], of id: DeviceID) {
        guard var device = session.devices[id] else { return }
        observed[id]?.needsNumbers = false
        isJudgementDue = true
        let first = device.firstNumbers ?? numbers.mapValues { Self.first(after: $0, isLate: session.start != nil) }
        device.firstNumbers = first
        if session.end != nil {
            (device.onItsWay, device.missing) = Self.rest(numbers, from: first, to: device.lastNumbers ?? [:])
        }
        session.devices[id] = device
    }

    /// Returns the first number of a session in an epoch.
    /// - Parameter isLate: whether the session has started. Then what is on its way may belong to it.
    private static func first(after known: BatchNumbers, isLate: Bool) -> Int64 {
        let settled = known.received.union(known.dropped)
        guard let last = settled.last, last > 0 else { return 1 }
        guard isLate else { return last + 1 }
        guard let report = known.report else { return settled.watermark + 1 }
        let open = SequenceSet([1...last]).subtracting(settled).subtracting(report.before).subtracting(report.gone)
        return open.ranges.first?.lowerBound ?? last + 1
    }

    /// Returns the number of batches that a device still has, and of those that will never be stored.
    /// - Parameters:
    ///   - first: the first number in each epoch; 1 in others.
    ///   - last: the last number in each epoch of which the device has batches. Of others, it has none.
    static func rest(
        _ numbers: [Epoch: BatchNumbers], from first: [Epoch: Int64], to last: [Epoch: Int64]
    ) -> (onItsWay: Int64, missing: Int64) {
        var (onItsWay, missing): (Int64, Int64) = (0, 0)
        for epoch in Set(numbers.keys).union(last.keys) {
            let known = numbers[epoch] ?? BatchNumbers()
            let settled = known.received.union(known.dropped)
            guard let end = last[epoch] ?? settled.last, case let start = first[epoch] ?? 1, start <= end else {
                continue
            }
            let range = SequenceSet([start...end])
            let open = range.subtracting(settled).subtracting(known.report?.before ?? SequenceSet())
            let gone = last[epoch] == nil ? open : open.intersection(known.report?.gone ?? SequenceSet())
            onItsWay += open.subtracting(gone).count
            missing += gone.count + range.intersection(known.dropped).subtracting(known.received).count
        }
        return (onItsWay, missing)
    }

    // MARK: Time

    /// Advances the time, and returns the requests that are due.
    mutating func tick(at moment: Moment) -> [Command] {
        for (id, observation) in observed {
            session.devices[id]?.clockBound = observation.clock.map {
                Int64($0.at(collectorTime: moment.wall).bound.rounded(.up))
            }
        }
        isJudgementDue = false
        advance(at: moment)
        return commands(at: moment)
    }

    private mutating func advance(at moment: Moment) {
        let now = moment.wall
        let steady = Timestamp(microseconds: moment.boot + clockOffset)
        switch session.state {
        case .preparing:
            update(problems: readiness)
            let isReady = !session.devices.isEmpty && session.devices.values.allSatisfy { $0.problem == nil }
            guard isReady || steady - session.created >= session.patience else { return }
            session.start = now + (isReady ? Self.countdown : 0)
            clockOffset = now.microseconds - moment.boot
            session.state = isReady ? .armed : .recording
        case .armed:
            if let start = session.start, steady >= start { session.state = .recording }
        case .recording:
            update(
                problems: observed.mapValues { observation in
                    if observation.isOffline { return "is offline" }
                    guard let heard = observation.heard, moment.boot - heard < Self.silence else {
                        return "sends nothing"
                    }
                    return observation.refusal
                })
            guard let start = session.start, let length = session.length, steady - start >= length else { return }
            // After a step of the clock, the samples until now have the new time.
            let isStepped = abs(now - steady) > 1_000_000
            stop(at: isStepped ? moment : Moment(wall: start + length, boot: moment.boot, awake: moment.awake))
        case .stopping, .incomplete: judge(at: steady)
        case .complete, .deleted: break
        }
    }

    /// Why each device is not ready.
    private var readiness: [DeviceID: String?] {
        Dictionary(uniqueKeysWithValues: session.devices.map { ($0, readiness(of: $0, $1)) })
    }

    /// Returns why a device is not ready, or nil.
    private func readiness(of id: DeviceID, _ device: RecordingSession.Device) -> String? {
        guard let observation = observed[id] else { return nil }
        guard device.firstNumbers != nil else { return "the store has not answered" }
        if let refusal = observation.refusal { return refusal }
        if !session.rates.isEmpty, !observation.hasAnswered { return "does not answer" }
        if observation.newest.isEmpty { return "sends nothing" }
        for (stream, asked) in session.rates.sorted(by: { $0.key < $1.key }) {
            guard let rate = device.rates[stream] else { return "\(stream) does not arrive" }
            if rate < asked * Self.tolerance {
                return "\(stream) arrives at \(Int(rate.rounded())) of \(Int(asked)) Hz"
            }
        }
        if let limit = session.clockBound {
            guard let bound = device.clockBound else { return "the error of its clock is unknown" }
            if bound > limit { return "the error of its clock may be \(bound) µs" }
        }
        return nil
    }

    /// Decides whether everything is stored.
    private mutating func judge(at now: Timestamp) {
        update(
            problems: session.devices.mapValues { device in
                if device.missing > 0 { return counted(device.missing, "batch", "batches") + " missing" }
                if device.lastNumbers == nil { return "has not answered since the end" }
                if device.onItsWay > 0 { return counted(device.onItsWay, "batch", "batches") + " on the way" }
                // Stopped before its start, it has no samples. Those before the request to start have not been observed.
                let isUnknown = session.start == session.end || session.start.map { $0 < session.created } == true
                return device.hasSamples || isUnknown ? nil : RecordingSession.noSamples
            })
        let devices = session.devices
        if !devices.isEmpty, devices.allSatisfy({ $0.value.problem == nil && observed[$0.key]?.needsNumbers != true }) {
            session.state = .complete
        } else if session.state == .stopping {
            let waits = devices.contains { id, device in
                observed[id]?.needsNumbers == true
                    || observed[id]?.isOffline != true && (device.lastNumbers == nil || device.onItsWay > 0)
            }
            if !waits || session.end.map({ now - $0 >= Self.grace }) == true { session.state = .incomplete }
        }
    }

    private mutating func update(problems: [DeviceID: String?]) {
        for (id, problem) in problems where session.devices[id]?.problem != problem {
            session.devices[id]?.problem = problem
        }
    }

    private mutating func commands(at moment: Moment) -> [Command] {
        guard session.state != .complete else { return [] }
        var commands: [Command] = []
        for (id, device) in session.devices.sorted(by: { $0.key < $1.key }) {
            guard let observation = observed[id], moment.boot >= observation.nextRequest else { continue }
            func add(_ action: AgentRequest.Action) {
                requests += 1
                let client = Self.client(session.key.id)
                commands.append(
                    Command(
                        device: id, request: AgentRequest(id: "\(client)/\(requests)", client: client, action: action)))
            }
            let isOver = session.end != nil
            let isUnanswered = isOver ? device.lastNumbers == nil : !observation.hasAnswered
            observed[id]?.nextRequest = moment.boot + (isUnanswered ? Self.retry : Self.renewal)
            for (name, rate) in session.rates.sorted(by: { $0.key < $1.key }) {
                guard let stream = StreamCatalog.builtIn.reference(named: name) else { continue }
                add(.lease(RateLease(stream: stream, rate: isOver ? 0 : rate, duration: Self.leaseLength)))
            }
            if isOver {
                if isUnanswered { add(.flush) }
                guard session.state != .stopping else { continue }
                // A device may have returned before it could answer. Later requests follow when it returns again.
                let isAskedAgain = isUnanswered && !observation.isOffline && observation.attempts < Self.maxAttempts
                observed[id]?.nextRequest = isAskedAgain ? moment.boot + Self.retry << observation.attempts : .max
                observed[id]?.attempts += 1
            }
        }
        return commands
    }
}

extension RecordingSession.Device {
    /// Whether everything of the device is stored.
    fileprivate var isSettled: Bool { lastNumbers != nil && onItsWay == 0 && missing == 0 }
}
