import ArgumentParser
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

struct CommandCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "command", abstract: "Asks an agent for something, and shows its answer.",
        discussion: """
            One of --rate, --phase, --flush and --describe. A rate is leased: it holds for the time of --lease, and the \
            stream falls back to the agent's own rate when that is over.

            EXAMPLES
              lockstep command arm-left --describe
              lockstep command lab/arm-left --rate motion/accelerometer=200 --lease 5m
              lockstep command arm-left --phase background
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The device, as [GROUP/]DEVICE.", transform: deviceAddress)
    var device: DeviceAddress

    @Option(
        help: ArgumentHelp("Lease a rate of a stream, in samples a second; 0 ends the lease.", valueName: "stream=hz"))
    var rate: String?

    @Option(help: "How long the lease is, such as 90s or 5m (default: 60s).")
    var lease: String?

    @Option(help: "Go to a phase: foreground, inactive or background.")
    var phase: String?

    @Flag(help: "Publish now what waits for the end of its window.")
    var flush = false

    @Flag(help: "Show streams, rates, leases, sources and outbox.")
    var describe = false

    @Option(help: "Whose lease it is: it takes the place of this client's earlier one (default: lockstep).")
    var client: String?

    @Option(help: "How long to wait for the answer (default: 5s).")
    var timeout: String?

    @Flag(help: "The answer as the agent sends it, a JSON object.")
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
            throw CommandFailure("say what to do: one of --rate, --phase, --flush and --describe")
        }
        if lease != nil, rate == nil { throw CommandFailure("--lease belongs to --rate") }
        return action
    }
}

private func deviceAddress(_ text: String) throws -> DeviceAddress {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let device = parts.last else {
        throw CommandFailure("'\(text)' is no device: write [GROUP/]DEVICE")
    }
    return DeviceAddress(
        group: parts.count == 2 ? try GroupID(validating: String(parts[0])) : .standard,
        device: try DeviceID(validating: String(device)))
}

private func rateLease(_ text: String, for span: Int64) throws -> RateLease {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let rate = Double(String(parts[1])), rate == 0 || RateLease.rates.contains(rate) else {
        throw CommandFailure(
            "--rate: '\(text)' is no rate: write STREAM=HZ, with \(RateLease.rates.lowerBound) to "
                + "\(RateLease.rates.upperBound) samples a second, or 0 to end a lease")
    }
    // The agent knows whether a stream below x/ is declared.
    guard let stream = StreamCatalog.builtIn.reference(named: String(parts[0])) else {
        throw CommandFailure(
            "--rate: '\(parts[0])' is no stream: use one of "
                + SensorStream.builtIn.map(\.name).joined(separator: ", "))
    }
    let seconds = Double(span) / 1e6
    guard RateLease.durations.contains(seconds) else { throw CommandFailure("--lease takes 1s to 1d") }
    return RateLease(stream: stream, rate: rate, duration: seconds)
}

private func settablePhase(_ text: String) throws -> Phase {
    let phases: [Phase] = [.foreground, .inactive, .background]
    guard let phase = Phase(rawValue: text), phases.contains(phase) else {
        throw CommandFailure("--phase: '\(text)' is none of \(phases.map(\.rawValue).joined(separator: ", "))")
    }
    return phase
}
