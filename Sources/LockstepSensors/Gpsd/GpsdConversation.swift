package import LockstepModel

/// What follows from what gpsd says, as a value: bytes and time in; samples and statuses out.
///
/// It outlives a connection, so that what is repeated after a reconnect is known.
package struct GpsdConversation: Sendable {
    package enum Action: Sendable, Equatable {
        /// Hand over one sample of the `location` stream.
        case sample(SampleBlock)
        case report(SourceStatus)
    }

    package let stamping: Stamping
    package private(set) var assembler: FixAssembler
    /// Lines that could not be read.
    package private(set) var malformedLines = 0
    /// Fixes that ``Stamping/own`` could not take: not later than the one before, or without a time.
    package private(set) var droppedFixes = 0
    /// Whether gpsd has introduced itself on this connection.
    package private(set) var isGreeted = false

    private var lines = LineSplitter()
    private var lastOwn: Timestamp?
    private var status: SourceStatus?

    package init(stamping: Stamping, assembler: FixAssembler = FixAssembler()) {
        self.stamping = stamping
        self.assembler = assembler
    }

    /// Takes bytes that arrived at `now`, in µs of the boot clock.
    package mutating func receive(_ bytes: some Collection<UInt8>, at now: Int64) -> [Action] {
        var actions: [Action] = []
        for line in lines.take(bytes) {
            guard let report = try? GpsdReport(line: line) else {
                malformedLines += 1
                continue
            }
            actions += take(report, at: now)
        }
        return actions
    }

    /// Lets time go on to `now`.
    package mutating func advance(to now: Int64) -> [Action] { act(on: assembler.advance(to: now)) }

    /// Gives what still waits, and forgets the half line: the connection has ended, and this is why.
    package mutating func disconnected(_ reason: String) -> [Action] {
        lines = LineSplitter()
        isGreeted = false
        return act(on: assembler.give()) + say(.unavailable(reason))
    }

    private mutating func take(_ report: GpsdReport, at now: Int64) -> [Action] {
        switch report {
        case .version:
            isGreeted = true
            return say(.waiting("no fix"))
        case .devices(let paths): return paths.isEmpty ? say(.waiting("gpsd has no receiver")) : []
        case .error(let message): return say(.waiting("gpsd says: \(message)"))
        case .position(let position): return act(on: assembler.receive(position, at: now))
        case .sky, .other: return []
        }
    }

    private mutating func act(on outputs: [FixAssembler.Output]) -> [Action] {
        outputs.flatMap { output in
            switch output {
            case .fix(let report, let arrived): give(report, arrived: arrived, status: .running)
            case .noFix(let report, let arrived): give(report, arrived: arrived, status: .waiting("no fix"))
            case .stale(let age): say(.stale("last fix \(age / 1_000_000) s ago"))
            }
        }
    }

    private mutating func give(_ report: PositionReport, arrived: Int64, status: SourceStatus) -> [Action] {
        guard stamping == .own else {
            return [.sample(report.sample(at: Timestamp(microseconds: arrived)))] + say(status)
        }
        guard let time = report.time, lastOwn.map({ time > $0 }) ?? true else {
            guard report.isFix else { return say(status) }
            droppedFixes += 1
            // A receiver can go on like this once a second: say it again only when it has become twice as bad.
            guard droppedFixes.nonzeroBitCount == 1 else { return [] }
            let reason = report.time == nil ? "without a time" : "not later than the one before"
            return say(.waiting("\(droppedFixes) fixes dropped, the last \(reason)"))
        }
        lastOwn = time
        return [.sample(report.sample(at: time))] + say(status)
    }

    /// A status is worth saying when it is another than before.
    private mutating func say(_ new: SourceStatus) -> [Action] {
        guard status != new else { return [] }
        status = new
        return [.report(new)]
    }
}

extension PositionReport {
    /// The sample of the `location` stream with this timestamp; without position and with `fix` 1 if there is no fix.
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
