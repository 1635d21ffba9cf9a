import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepLive
import LockstepMQTT
import LockstepModel
import LockstepWire

struct CommandCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Send a command to an agent and show its reply.",
        discussion: """
            Use exactly one of --rate, --phase, --flush and --describe. A rate is leased for a limited time (--lease). \
            When the lease ends, the stream returns to its configured rate.

            The highest request for a stream wins: a lease raises its rate, and does not lower it below the configured \
            rate or another lease. The rate 'source' is that of the sensor itself, which 'lockstep watch' measures.

            EXAMPLES
              lockstep command arm-left --describe
              lockstep command lab/arm-left --rate motion/accelerometer=200 --lease 5m
              lockstep command arm-left --phase background
            """)

    @Argument(
        help: "Device, as [GROUP/]DEVICE; without a group, in any group.", transform: DeviceArgument.init(parsing:))
    var device: DeviceArgument

    @Option(
        help: ArgumentHelp(
            "Lease a rate for a stream, in samples per second; 0 ends the lease.", valueName: "stream=hz")
    )
    var rate: String?

    @Option(help: "Duration of the lease, such as 90s or 5m (default: 60s).")
    var lease: String?

    @Option(help: "Change the phase: foreground, inactive or background.")
    var phase: String?

    @Flag(help: "Publish buffered samples now instead of at the end of the window.")
    var flush = false

    @Flag(help: "Show the streams with their rates, the leases, the sources and the outbox.")
    var describe = false

    @Option(
        help: """
            Owner of the lease (default: lockstep). A new lease replaces an earlier one of the same owner and stream.
            """)
    var client: String?

    @Option(help: "Time to wait for the reply (default: 5s).")
    var timeout: String?

    @OptionGroup var zone: ZoneOptions

    @Flag(help: "Print the agent's reply as one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let action = try action()
        let waitTime = try timeout.map(parseDuration) ?? 5_000_000
        let device = try connection.address(of: device, settings, root)
        let request = PendingRequest(AgentRequest(client: client ?? "lockstep", action: action), to: device)
        let (reply, payload) = try connection.send(
            request, for: "command", settings, root, until: .now + .microseconds(waitTime))
        Terminal.output.write(
            json ? String(decoding: payload, as: UTF8.self) + "\n" : text(of: reply, requested: action.leasedRate))
    }

    private func action() throws -> AgentRequest.Action {
        var actions: [AgentRequest.Action] = []
        if let rate { actions.append(.lease(try rateLease(rate, for: try parseDuration(lease ?? "60s")))) }
        if let phase { actions.append(.phase(try settablePhase(phase))) }
        if flush { actions.append(.flush) }
        if describe { actions.append(.describe) }
        guard let action = actions.first, actions.count == 1 else {
            throw CommandFailure("use exactly one of --rate, --phase, --flush and --describe")
        }
        if lease != nil, rate == nil { throw CommandFailure("--lease requires --rate") }
        return action
    }
}

extension AgentRequest.Action {
    /// The rate that the request leases, in samples per second; nil for other requests and the end of a lease.
    fileprivate var leasedRate: Double? {
        if case .lease(let lease) = self, lease.rate > 0 { lease.rate } else { nil }
    }
}

/// Parses a lease such as `motion/accelerometer=200`.
/// - Parameter duration: the duration of the lease, in µs.
private func rateLease(_ text: String, for duration: Int64) throws -> RateLease {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let rate = Double(String(parts[1])), rate == 0 || RateLease.validRates.contains(rate) else {
        throw CommandFailure(
            "--rate: '\(text)' is not a rate: use STREAM=HZ with \(RateLease.validRates.lowerBound) to "
                + "\(RateLease.validRates.upperBound) Hz, or 0 to end a lease")
    }
    // Accept any name below x/: only the agent knows which of these streams are declared.
    let name = String(parts[0])
    let stream = try StreamCatalog.builtIn.reference(named: name) ?? StreamCatalog.builtIn.knownStream(name)
    let seconds = Double(duration) / 1e6
    guard RateLease.validDurations.contains(seconds) else { throw CommandFailure("--lease must be from 1s to 1d") }
    return RateLease(stream: stream, rate: rate, duration: seconds)
}

/// Parses a phase that a command can set.
private func settablePhase(_ text: String) throws -> Phase {
    let phases: [Phase] = [.foreground, .inactive, .background]
    guard let phase = Phase(rawValue: text), phases.contains(phase) else {
        throw CommandFailure("--phase: '\(text)' is not one of \(phases.map(\.rawValue).joined(separator: ", "))")
    }
    return phase
}

/// Returns the reply of an agent as text, with a newline at the end.
/// - Parameter requested: the rate that was to be leased, in samples per second; nil for other requests.
func text(of reply: AgentReply, requested: Double? = nil) -> String {
    switch reply.outcome {
    case .leased(let stream, let rate, let until): text(ofLease: stream, rate, until, requested: requested) + "\n"
    case .phase(let phase): "the agent is in phase \(phase.rawValue)\n"
    case .flushed(let batches): "\(counted(batches, "batch", "batches")) written to the outbox and published\n"
    case .calibrated(let calibration): (calibration.map { text(of: $0) } ?? "not calibrated") + "\n"
    case .failed(let reason): "\(reason)\n"
    case .described(let description): text(of: description)
    }
}

/// Returns the result of a lease. It does not lower the rate that others have requested.
private func text(ofLease stream: SensorStream, _ rate: Double?, _ until: Timestamp?, requested: Double?) -> String {
    let published = rate?.isInfinite == true ? "the rate of its source" : text(ofRate: rate)
    guard rate != nil else { return "\(stream) is off" }
    guard let until else { return "\(stream) is published at \(published)" }
    guard let requested, let rate, rate > requested else {
        return "\(stream) is published at \(published), leased until \(until.shown)"
    }
    return
        "\(text(ofRate: requested)) is leased until \(until.shown), but \(stream) stays at \(published), because "
        + "the highest request wins"
}

private func text(of description: AgentDescription) -> String {
    var facts = Table(["PHASE", "EPOCH", "OUTBOX", .right("DROPPED")])
    facts.rows.append([
        .init(description.phase.rawValue, .bold), "\(description.epoch)",
        .init(counted(description.outboxBatches, "batch", "batches") + ", \(description.outboxBytes) B"),
        .init("\(description.droppedSamples)", description.droppedSamples > 0 ? .red : .plain),
    ])
    var streams = Table(["STREAM", "RATE", "UNITS"])
    for item in description.streams {
        let units = item.stream.columns.filter { !$0.isTime }.map(\.unit).filter { !$0.isEmpty }
        streams.rows.append([
            .init(item.stream.name, .bold), .init(text(ofRate: item.rate), item.rate == nil ? .faint : .plain),
            .init(units.reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }.joined(separator: ", ")),
        ])
    }
    var leases = Table(["LEASE OWNER", "STREAM", "RATE", "UNTIL"])
    for lease in description.leases {
        leases.rows.append([
            .init(lease.client.isEmpty ? "-" : lease.client.printable), .init(lease.stream.name),
            .init(text(ofRate: lease.rate)), .init(lease.until.shown),
        ])
    }
    var sources = Table(["SOURCE", "STATUS"])
    for (name, status) in description.sources.sorted(by: { $0.key < $1.key }) {
        sources.rows.append([.init(name.printable, .bold), .init(status.printable)])
    }
    let calibration = description.calibration.map { "\n" + text(of: $0) + "\n" } ?? ""
    return [facts, streams, leases, sources].filter { !$0.rows.isEmpty }
        .map { $0.text(for: .output) }.joined(separator: "\n") + calibration
}

private func text(ofRate rate: Double?) -> String {
    guard let rate else { return "off" }
    if rate.isInfinite { return "source" }
    return (Int64(exactly: rate).map(String.init) ?? number(rate)) + " Hz"
}
