import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

struct CommandCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Send a command to an agent and show its reply.",
        discussion: """
            Use one of --rate, --phase, --flush and --describe. A rate is leased for the duration of --lease; after \
            that, the stream returns to the agent's own rate.

            EXAMPLES
              lockstep command arm-left --describe
              lockstep command lab/arm-left --rate motion/accelerometer=200 --lease 5m
              lockstep command arm-left --phase background
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The device, as [GROUP/]DEVICE.", transform: deviceAddress)
    var device: DeviceAddress

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

    @Flag(help: "Show streams, rates, leases, sources and outbox.")
    var describe = false

    @Option(help: "Owner of the lease; a new lease replaces the earlier one of the same owner (default: lockstep).")
    var client: String?

    @Option(help: "Time to wait for the reply (default: 5s).")
    var timeout: String?

    @Flag(help: "Print the reply of the agent as one JSON object.")
    var json = false

    func run() throws {
        let settings = try connection.settings()
        let root = try connection.topicRoot(settings)
        let request = AgentRequest(id: "\(Epoch.random())", client: client ?? "lockstep", action: try action())
        let patience = try timeout.map(span) ?? 5_000_000
        let wakeup = Wakeup()
        let (link, address) = try connection.link(settings, for: "command", wakeup: wakeup)
        let exchange = CommandExchange(link: link, broker: address, root: root, device: device, request: request)
        let (reply, payload) = try exchange.run(until: .now + .microseconds(patience))
        if case .failed(let reason) = reply.outcome { throw CommandFailure("\(device): \(reason)") }
        Terminal.output.write(json ? String(decoding: payload, as: UTF8.self) + "\n" : text(of: reply))
    }

    private func action() throws -> AgentRequest.Action {
        var actions: [AgentRequest.Action] = []
        if let rate { actions.append(.lease(try rateLease(rate, for: try span(lease ?? "60s")))) }
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

private func deviceAddress(_ text: String) throws -> DeviceAddress {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let device = parts.last else {
        throw CommandFailure("'\(text)' is not a device: use [GROUP/]DEVICE")
    }
    return DeviceAddress(
        group: parts.count == 2 ? try GroupID(validating: String(parts[0])) : .standard,
        device: try DeviceID(validating: String(device)))
}

private func rateLease(_ text: String, for span: Int64) throws -> RateLease {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let rate = Double(String(parts[1])), rate == 0 || RateLease.rates.contains(rate) else {
        throw CommandFailure(
            "--rate: '\(text)' is not a rate: use STREAM=HZ with \(RateLease.rates.lowerBound) to "
                + "\(RateLease.rates.upperBound) Hz, or 0 to end a lease")
    }
    // The agent knows whether a stream below x/ is declared.
    guard let stream = StreamCatalog.builtIn.reference(named: String(parts[0])) else {
        throw CommandFailure(
            "--rate: '\(parts[0])' is not a stream: use one of "
                + SensorStream.builtIn.map(\.name).joined(separator: ", "))
    }
    let seconds = Double(span) / 1e6
    guard RateLease.durations.contains(seconds) else { throw CommandFailure("--lease must be from 1s to 1d") }
    return RateLease(stream: stream, rate: rate, duration: seconds)
}

private func settablePhase(_ text: String) throws -> Phase {
    let phases: [Phase] = [.foreground, .inactive, .background]
    guard let phase = Phase(rawValue: text), phases.contains(phase) else {
        throw CommandFailure("--phase: '\(text)' is not one of \(phases.map(\.rawValue).joined(separator: ", "))")
    }
    return phase
}
