import ArgumentParser
import LockstepAgent
import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepSystem

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Simulate many devices, and report delivery and latency.",
        discussion: """
            Runs a load test or a soak test of a broker and its collectors. Each device publishes batches like an \
            agent, waits for acknowledgements from a collector, and sends missing batches again. The final report \
            contains the numbers of sent, stored and duplicate samples, the latency (from the completion of a batch \
            to its acknowledgement), and the memory of collector and broker.

            The devices are named sim-0001, sim-0002, …. They and their samples remain in the store, in a group of \
            their own. The numbers from collectors also include the samples of all other devices.

            The exit status is 1 if samples were not stored. Ctrl-C ends the simulation early, with a report, after \
            complete live batches are delivered. Backlog that was not sent is left out; 'lockstep verify' reports it \
            as missing.

            EXAMPLES
              lockstep simulate --devices 2000 --sample-rate 10 --minutes 10
              lockstep simulate --devices 10000 --connections 50 --sample-rate 2 --json
              lockstep simulate --devices 1000 --backlog 3600 --window 10s --minutes 5
            """)

    @Option(help: "Number of devices, 1 to 100000.")
    var devices = 100

    @Option(help: "Sampling rate of each stream in Hz, 0.001 to 10000.")
    var sampleRate = 10.0

    @Option(help: "Streams of each device, separated by commas (default: motion/accelerometer).", transform: streamList)
    var streams = [SensorStream.accelerometer]

    @Option(help: "Time for which a device collects samples in one batch (default: 1s).", transform: parseDuration)
    var window: Int64?

    @Option(help: "Duration of the live data in minutes.")
    var minutes: Double?

    @Option(help: "Duration of the live data in seconds, instead of --minutes (default: 60).")
    var seconds: Double?

    @Option(help: "Number of connections shared by the devices (default: one per device).")
    var connections: Int?

    @Option(help: "Group of the devices (default: simulated).", transform: groupID)
    var group = GroupID(unchecked: "simulated")

    @Option(help: "Seconds of backlog that each device sends in addition to the live data.")
    var backlog = 0.0

    @Option(help: "Maximum rate of each device's backlog in bytes per second, such as 256K or 1M.")
    var backlogRate = "256K"

    @Option(
        help: """
            Maximum time in seconds to wait for each further acknowledgement at the end; after it, unacknowledged \
            batches count as lost.
            """)
    var patience = 60.0

    @Option(help: "Seed of the random values; equal seeds give equal values.")
    var seed: UInt64 = 1

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    func validate() throws {
        func check(_ isValid: Bool, _ text: String) throws { if !isValid { throw ValidationError(text) } }
        try check((1...100_000).contains(devices), "--devices must be from 1 to 100000")
        try check((0.001...10_000).contains(sampleRate), "--sample-rate must be from 0.001 to 10000")
        try check(!streams.isEmpty, "--streams requires at least one stream")
        try check((10_000...3_600_000_000).contains(batchWindow), "--window must be from 10ms to 1h")
        try check(
            sampleRate * Double(batchWindow) <= 10_000e6,
            "--sample-rate times --window must be at most 10000, the samples of one batch")
        try check(minutes == nil || seconds == nil, "use either --minutes or --seconds, not both")
        try check((0.1...31_536_000).contains(duration), "the duration must be from 0.1 s to one year")
        try check(
            connections.map { (1...devices).contains($0) } ?? true, "--connections must be from 1 to --devices")
        try check((0...604_800).contains(backlog), "--backlog must be from 0 to 604800 (one week)")
        try check((1...86_400).contains(patience), "--patience must be from 1 to 86400")
    }

    /// The time of one batch, in µs.
    private var batchWindow: Int64 { window ?? 1_000_000 }
    /// The duration of live data, in s.
    private var duration: Double { minutes.map { $0 * 60 } ?? seconds ?? 60 }

    func run() throws {
        let settings = try connection.settings()
        let plan = FleetPlan(
            devices: devices, group: group, streams: streams, rate: sampleRate, window: batchWindow,
            duration: Int64(duration * 1e6), backlog: Int64(backlog * 1e6), seed: seed, run: Moment.now().wall)
        let access = try connection.broker.access(settings)
        var configuration = FleetConfiguration(
            plan: plan, connections: connections ?? devices, broker: access.address)
        configuration.broker = access
        configuration.root = try connection.topicRoot(settings)
        configuration.backlogRate = max(1, try byteCount(backlogRate))
        configuration.patience = Int64(patience * 1e6)
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        var progress = ProgressLine()
        let outcome = try Fleet(configuration, wakeup: wakeup).run(
            until: { interrupt.isSet }, progress: { progress.show(SimulateProgress.line($0)) })
        progress.end()
        let report = FleetReport(outcome: outcome)
        Terminal.output.write(json ? report.json : report.text(for: .output))
        if !report.isComplete { throw ExitCode(1) }
    }
}

/// Parses the names of streams, separated by commas.
private func streamList(_ text: String) throws -> [SensorStream] {
    try text.split(separator: ",").reduce(into: []) { streams, name in
        guard let stream = StreamCatalog.builtIn.stream(named: String(name)) else {
            throw CommandFailure(
                "unknown stream '\(name)'; known streams: \(SensorStream.builtIn.map(\.name).joined(separator: ", "))")
        }
        if !streams.contains(stream) { streams.append(stream) }
    }
}

enum SimulateProgress {
    static func line(_ outcome: FleetOutcome) -> String {
        let lag = outcome.liveLag.quantile(0.99).map { ", p99 latency \(fixed(Double($0) / 1000, 0)) ms" } ?? ""
        let memory = outcome.collectors.collectors.values.compactMap(\.memory.last).max()
        return "\(outcome.elapsed / 1_000_000) s: \(counted(outcome.sent.batches, "batch", "batches")) sent, "
            + "\(outcome.acknowledged.batches) acknowledged\(lag)"
            + (memory.map { ", collector \($0 >> 20) MB" } ?? "")
    }
}
