import ArgumentParser
import LockstepCommandLine
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

    @OptionGroup var connection: ConnectionOptions

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

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let request = AgentRequest(id: "\(Epoch.random())", client: client ?? "lockstep", action: try action())
        let waitTime = try timeout.map(parseDuration) ?? 5_000_000
        let device = try connection.address(of: device, settings, root)
        let (link, broker) = try connection.link(settings, for: "command", wakeup: Wakeup())
        let exchange = CommandExchange(link: link, broker: broker, root: root, device: device, request: request)
        let (reply, payload) = try exchange.run(until: .now + .microseconds(waitTime))
        if case .failed(let reason) = reply.outcome { throw CommandFailure("\(device): \(reason)") }
        Terminal.output.write(
            json ? String(decoding: payload, as: UTF8.self) + "\n" : text(of: reply, requested: request.leasedRate))
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

extension AgentRequest {
    /// The rate that the request leases, in samples per second; nil for other requests and the end of a lease.
    fileprivate var leasedRate: Double? {
        if case .lease(let lease) = action, lease.rate > 0 { lease.rate } else { nil }
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
