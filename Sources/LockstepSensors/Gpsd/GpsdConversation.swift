package import LockstepModel

/// The state of a conversation with gpsd, as a value: it takes bytes and times, and returns samples and statuses.
///
/// It outlives a connection, so that fixes repeated after a reconnect are recognised. Each receiver has its own
/// ``FixAssembler``. A missing fix is a sample only if no receiver has a fix.
package struct GpsdConversation: Sendable {
    /// An action for the caller to perform.
    package enum Action: Sendable, Equatable {
        /// Deliver one sample of the `location` stream.
        case sample(SampleBlock)
        case report(SourceStatus)
    }

    /// What could not be used as it came.
    private enum Warning: CaseIterable {
        /// A line that is not a report, or has an impossible value.
        case unreadable
        /// A value of a report that cannot be read.
        case value
        /// A fix without a time, if its timestamp would be the receiver's time.
        case untimed
        /// A fix with a time in the future, likewise.
        case future
        /// A step back of a receiver's time.
        case stepBack
    }

    /// The timestamps of the samples.
    package let stamping: Stamping
    /// The path of the receiver to use; nil uses all receivers.
    package let device: String?
    /// Whether gpsd has sent its version on this connection.
    package private(set) var isGreeted = false

    /// The largest number of receivers; reports of further ones are not used.
    private static let maxReceivers = 64

    private let newAssembler: FixAssembler
    private var receivers: [String: FixAssembler] = [:]
    /// The arrival of the last fix of each receiver that has one.
    private var fixes: [String: Int64] = [:]
    /// Whether the last sample says that there is no fix.
    private var isLost = false
    private var stamps = ReceiverStamps()
    private var future = FutureFixes()
    /// Returns the system's time at a time of the boot clock, and whether it is synchronised.
    private let systemClock: @Sendable (Int64) -> (time: Timestamp, isSynchronised: Bool)
    private var warnings = StatusWarnings<Warning>()
    private var lines = LineSplitter()
    /// The last status without warnings.
    private var status: SourceStatus?
    private var reported: SourceStatus?

    /// - Parameters:
    ///   - device: The path of the receiver to use; nil uses all receivers.
    ///   - assembler: The initial assembler of each receiver.
    ///   - systemClock: Returns the system's time at a time of the boot clock, and whether it is synchronised.
    package init(
        stamping: Stamping, device: String? = nil, assembler: FixAssembler = FixAssembler(),
        systemClock: @escaping @Sendable (Int64) -> (time: Timestamp, isSynchronised: Bool) = Self.systemTime
    ) {
        self.stamping = stamping
        self.device = device
        self.systemClock = systemClock
        newAssembler = assembler
    }

    package static let systemTime: @Sendable (Int64) -> (time: Timestamp, isSynchronised: Bool) = { boot in
        let now = Moment.now()
        return (now.wall + (boot - now.boot), KernelDiscipline.now()?.isSynchronised ?? false)
    }

    /// The number of lines that were not reports, or had an impossible value.
    package var malformedLines: Int { warnings.count(of: .unreadable) }
    /// The number of fixes dropped by ``Stamping/own`` because they had no time.
    package var droppedFixes: Int { warnings.count(of: .untimed) }
    /// The number of times that a receiver's time stepped back, counted with ``Stamping/own``.
    package var stepsBack: Int { warnings.count(of: .stepBack) }

    /// The time of the next ``advance(to:)`` if nothing arrives; nil if there is none.
    package var nextDeadline: Int64? { receivers.values.compactMap(\.nextDeadline).min() }

    /// Processes bytes that arrived at `now`, in µs of the boot clock.
    package mutating func receive(_ bytes: some Collection<UInt8>, at now: Int64) -> [Action] {
        var actions: [Action] = []
        let tooLong = lines.dropped
        for line in lines.append(bytes) {
            do {
                actions += process(try GpsdReport(line: line), at: now)
            } catch {
                actions += refuse(line, error.description, at: now)
            }
        }
        if lines.dropped > tooLong { actions += refuse([], "longer than \(LineSplitter.maxLineLength) bytes", at: now) }
        return actions
    }

    /// Handles deadlines that have passed at `now`, in µs of the boot clock.
    package mutating func advance(to now: Int64) -> [Action] {
        receivers.keys.sorted().flatMap { act(on: receivers[$0]?.advance(to: now) ?? [], of: $0, at: now) }
    }

    /// Handles the end of the connection: flushes the pending fixes and discards the incomplete line.
    package mutating func disconnected(_ reason: String) -> [Action] {
        lines = LineSplitter()
        isGreeted = false
        var actions: [Action] = []
        for name in receivers.keys.sorted() {
            actions += act(on: receivers[name]?.flush() ?? [], of: name, at: 0)
        }
        return actions + report(.unavailable(reason), at: 0)
    }

    private mutating func process(_ report: GpsdReport, at now: Int64) -> [Action] {
        switch report {
        case .version:
            isGreeted = true
            return self.report(.waiting("no fix"), at: now)
        case .devices(let paths): return check(paths, at: now)
        case .error(let message): return self.report(.waiting("gpsd reports an error: \(message)"), at: now)
        case .position(let position):
            if let device, position.device != device { return [] }
            if let value = position.unreadable.last {
                warnings.add(.value, at: now) { "\(counted($0, "report")) with a value left out, the last '\(value)'" }
            }
            let name = position.device ?? ""
            guard receivers[name] != nil || receivers.count < Self.maxReceivers else { return [] }
            let outputs = receivers[name, default: newAssembler].receive(position, at: now)
            return act(on: outputs, of: name, at: now)
        case .sky, .other: return []
        }
    }

    /// Reports a missing receiver.
    private mutating func check(_ paths: [String], at now: Int64) -> [Action] {
        if paths.isEmpty { return report(.waiting("gpsd has no receiver"), at: now) }
        guard let device, !paths.contains(device) else { return [] }
        return report(.waiting("gpsd has no receiver \(device), only \(paths.joined(separator: ", "))"), at: now)
    }

    private mutating func refuse(_ line: [UInt8], _ reason: String, at now: Int64) -> [Action] {
        let start = String(decoding: line.prefix(40), as: UTF8.self).filter { !$0.isNewline }
        warnings.add(.unreadable, at: now) { count in
            let place = line.isEmpty ? "" : " ('\(start)\(line.count > 40 ? "…" : "")')"
            return "\(counted(count, "line")) of gpsd not used, the last\(place): \(reason)"
        }
        return status.map { report($0, at: now) } ?? []
    }

    /// - Parameter now: The current time, for the age of warnings while nothing arrives.
    private mutating func act(on outputs: [FixAssembler.Output], of receiver: String, at now: Int64) -> [Action] {
        outputs.flatMap { output -> [Action] in
            switch output {
            case .fix(let report, let arrived):
                fixes[receiver] = arrived
                isLost = false
                return deliver(report, of: receiver, arrived: arrived, status: .running)
            case .noFix(let report, let arrived):
                fixes[receiver] = nil
                guard fixes.isEmpty, !isLost else { return [] }
                isLost = true
                return deliver(report, of: receiver, arrived: arrived, status: .waiting("no fix"))
            case .stale(let age):
                // Another receiver may still have a fix.
                fixes[receiver] = nil
                return fixes.isEmpty ? report(.stale("last fix \(age / 1_000_000) s ago"), at: now) : []
            }
        }
    }

    private mutating func deliver(
        _ position: PositionReport, of receiver: String, arrived: Int64, status: SourceStatus
    ) -> [Action] {
        guard stamping == .own else {
            return [.sample(position.sample(at: Timestamp(microseconds: arrived)))] + report(status, at: arrived)
        }
        guard let time = position.time else {
            guard position.isFix else { return report(status, at: arrived) }
            warnings.add(.untimed, at: arrived) { "\(counted($0, "fix", "fixes")) without a time dropped" }
            return report(self.status ?? .waiting("no fix"), at: arrived)
        }
        let (good, dropped) = future.receive((position, time, arrived), of: receiver, systemClock(arrived))
        for fix in dropped {
            warnings.add(.future, at: arrived) { count in
                "\(counted(count, "fix", "fixes")) with a time in the future dropped, the last of \(fix.time)"
            }
        }
        var actions: [Action] = []
        for fix in good {
            let (stamp, stepBack) = stamps.stamp(fix.time, of: receiver)
            if let stepBack {
                warnings.add(.stepBack, at: arrived) { count in
                    "the receiver's time stepped back \(count == 1 ? "" : "\(count) times, the last time ")by "
                        + (stepBack < 1_000_000 ? "\(stepBack / 1000) ms" : "\(stepBack / 1_000_000) s")
                }
            }
            actions.append(.sample(fix.position.sample(at: stamp)))
        }
        return actions + report(status, at: arrived)
    }

    /// Returns a report of the status with the current warnings if it differs from the last one.
    private mutating func report(_ new: SourceStatus, at now: Int64) -> [Action] {
        status = new
        var notes = warnings.texts(at: now)
        if fixes.count > 1 {
            let names = fixes.keys.sorted()
            notes.insert(
                "fixes of \(names.count) receivers (\(names.joined(separator: ", "))): choose one by its path, as in "
                    + "gpsd://host:port\(names[0].hasPrefix("/") ? "" : "/")\(names[0])", at: 0)
        }
        let full = new.adding(notes)
        guard reported != full else { return [] }
        reported = full
        return [.report(full)]
    }
}

extension SourceStatus {
    /// Returns the status with notes about the quality of its samples.
    fileprivate func adding(_ notes: [String]) -> SourceStatus {
        guard !notes.isEmpty else { return self }
        let text = notes.joined(separator: "; ")
        return switch self {
        case .running: .degraded(text)
        case .degraded(let reason): .degraded("\(reason); \(text)")
        case .waiting(let reason): .waiting("\(reason); \(text)")
        case .stale(let reason): .stale("\(reason); \(text)")
        case .unavailable, .ended: self
        }
    }
}

extension PositionReport {
    /// Returns the sample of the `location` stream with this timestamp. Without a fix, the sample has no position and
    /// `fix` is 1.
    func sample(at stamp: Timestamp) -> SampleBlock {
        var horizontal = horizontalError
        if horizontal == nil, let eastError, let northError {
            horizontal = (eastError * eastError + northError * northError).squareRoot()
        }
        let at = time.map { Double($0.microseconds) }
        let values: [Double?] =
            isFix
            ? [latitude, longitude, altitude, horizontal, verticalError, speed, course, Double(min(mode, 3)), at]
            : [nil, nil, nil, nil, nil, nil, nil, 1, at]
        var block = SampleBlock(stream: .location)
        block.append(time: stamp, values: values.map { $0 ?? .nan })
        return block
    }
}
