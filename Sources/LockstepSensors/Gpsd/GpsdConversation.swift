package import LockstepModel

/// The state of a conversation with gpsd, as a value: it takes bytes and times, and returns samples and statuses.
///
/// It outlives a connection, so that fixes repeated after a reconnect are recognised.
package struct GpsdConversation: Sendable {
    /// An action for the caller to perform.
    package enum Action: Sendable, Equatable {
        /// Deliver one sample of the `location` stream.
        case sample(SampleBlock)
        /// Report a new status.
        case report(SourceStatus)
    }

    /// The timestamps of the samples.
    package let stamping: Stamping
    package private(set) var assembler: FixAssembler
    /// The number of malformed lines.
    package private(set) var malformedLines = 0
    /// The number of fixes dropped by ``Stamping/own`` because their time was missing or not later than the previous
    /// one.
    package private(set) var droppedFixes = 0
    /// Whether gpsd has sent its version on this connection.
    package private(set) var isGreeted = false

    private var lines = LineSplitter()
    /// The receiver's time of the last sample, for ``Stamping/own``.
    private var lastOwn: Timestamp?
    private var status: SourceStatus?

    package init(stamping: Stamping, assembler: FixAssembler = FixAssembler()) {
        self.stamping = stamping
        self.assembler = assembler
    }

    /// Processes bytes that arrived at `now`, in µs of the boot clock.
    package mutating func receive(_ bytes: some Collection<UInt8>, at now: Int64) -> [Action] {
        var actions: [Action] = []
        for line in lines.append(bytes) {
            guard let report = try? GpsdReport(line: line) else {
                malformedLines += 1
                continue
            }
            actions += process(report, at: now)
        }
        return actions
    }

    /// Handles deadlines that have passed at `now`, in µs of the boot clock.
    package mutating func advance(to now: Int64) -> [Action] { act(on: assembler.advance(to: now)) }

    /// Handles the end of the connection: flushes the pending fix and discards the incomplete line.
    package mutating func disconnected(_ reason: String) -> [Action] {
        lines = LineSplitter()
        isGreeted = false
        return act(on: assembler.flush()) + report(.unavailable(reason))
    }

    private mutating func process(_ report: GpsdReport, at now: Int64) -> [Action] {
        switch report {
        case .version:
            isGreeted = true
            return self.report(.waiting("no fix"))
        case .devices(let paths): return paths.isEmpty ? self.report(.waiting("gpsd has no receiver")) : []
        case .error(let message): return self.report(.waiting("gpsd reports an error: \(message)"))
        case .position(let position): return act(on: assembler.receive(position, at: now))
        case .sky, .other: return []
        }
    }

    private mutating func act(on outputs: [FixAssembler.Output]) -> [Action] {
        outputs.flatMap { output in
            switch output {
            case .fix(let report, let arrived): deliver(report, arrived: arrived, status: .running)
            case .noFix(let report, let arrived): deliver(report, arrived: arrived, status: .waiting("no fix"))
            case .stale(let age): report(.stale("last fix \(age / 1_000_000) s ago"))
            }
        }
    }

    private mutating func deliver(_ position: PositionReport, arrived: Int64, status: SourceStatus) -> [Action] {
        guard stamping == .own else {
            return [.sample(position.sample(at: Timestamp(microseconds: arrived)))] + report(status)
        }
        guard let time = position.time, lastOwn.map({ time > $0 }) ?? true else {
            guard position.isFix else { return report(status) }
            droppedFixes += 1
            // Fixes may be dropped every second, so report them again only when the count has doubled.
            guard droppedFixes.nonzeroBitCount == 1 else { return [] }
            let reason = position.time == nil ? "without a time" : "not later than the previous one"
            let fixes = droppedFixes == 1 ? "1 fix" : "\(droppedFixes) fixes"
            return report(.waiting("\(fixes) dropped, the last \(reason)"))
        }
        lastOwn = time
        return [.sample(position.sample(at: time))] + report(status)
    }

    /// Returns a report of the status if it differs from the last one.
    private mutating func report(_ new: SourceStatus) -> [Action] {
        guard status != new else { return [] }
        status = new
        return [.report(new)]
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
