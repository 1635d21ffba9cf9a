import ArgumentParser
import LockstepCommandLine
import LockstepFleet
import LockstepMQTT
import LockstepModel

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate", abstract: "Plays many devices, and reports what became of all they sent.",
        discussion: """
            A load test for a broker and its collectors, or a soak when it runs for hours. Each device sends batches as \
            an agent does, waits for the collector's acknowledgement, and sends again what is missing. At the end \
            comes a report: sent, stored, duplicates, lag (from the time a batch is due to its acknowledgement), and \
            the memory of collector and broker over time. Devices are called sim-0001, sim-0002, …; they and their \
            samples stay in the store, in a group of their own. Counts of collectors have what other devices send \
            meanwhile as well.

            Ends with 1 where anything was not stored. ^C ends it early, with a report.

            EXAMPLES
              lockstep simulate --devices 2000 --rate 10 --minutes 10
              lockstep simulate --devices 10000 --connections 50 --rate 2 --minutes 2 --json
              lockstep simulate --devices 1000 --backlog 3600 --window 10 --minutes 5
            """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: "How many devices, 1 to 100000.")
    var devices = 100

    @Option(help: "Samples a second of each stream, 0.001 to 10000.")
    var rate = 10.0

    @Option(help: "Streams of each device, separated by commas.", transform: streamList)
    var streams = [SensorStream.accelerometer]

    @Option(help: "How many seconds of samples are a batch.")
    var window = 1.0

    @Option(help: "How many minutes of live data.")
    var minutes: Double?

    @Option(help: "How many seconds of live data (default: 60).")
    var seconds: Double?

    @Option(help: "Connections that the devices share (default: one each).")
    var connections: Int?

    @Option(help: "The group of the devices.", transform: groupID)
    var group = GroupID(unchecked: "simulated")

    @Option(help: "Seconds of old data that each device brings along, sent beside the live data.")
    var backlog = 0.0

    @Option(help: "Bytes of old data a second and device (with K or M).")
    var backlogRate = "256K"

    @Option(help: "Seconds without an acknowledgement, at the end, until what is missing counts as lost.")
    var patience = 60.0

    @Option(help: "The same seed sends the same values.")
    var seed: UInt64 = 1

    @Flag(help: "The report as one JSON object.")
    var json = false

    func validate() throws {
        func check(_ isRight: Bool, _ text: String) throws { if !isRight { throw ValidationError(text) } }
        try check((1...100_000).contains(devices), "--devices takes 1 to 100000")
        try check((0.001...10_000).contains(rate), "--rate takes 0.001 to 10000")
        try check(!streams.isEmpty, "--streams takes at least one")
        try check((0.01...3600).contains(window), "--window takes 0.01 to 3600")
        try check(rate * window <= 10_000, "--rate times --window is more than 10000 samples: too many for a batch")
        try check(minutes == nil || seconds == nil, "--minutes or --seconds, not both")
        try check((0.1...31_536_000).contains(duration), "the time takes 0.1 s to a year")
        try check(connections.map { (1...devices).contains($0) } ?? true, "--connections takes 1 to --devices")
        try check((0...604_800).contains(backlog), "--backlog takes 0 to 604800, a week")
        try check((1...86_400).contains(patience), "--patience takes 1 to 86400")
    }

    /// s of live data.
    private var duration: Double { minutes.map { $0 * 60 } ?? seconds ?? 60 }

    func run() throws {
        let settings = try connection.settings()
        let plan = FleetPlan(
            devices: devices, group: group, streams: streams, rate: rate, window: Int64(window * 1e6),
            duration: Int64(duration * 1e6), backlog: Int64(backlog * 1e6), seed: seed, run: Moment.now().wall)
        var configuration = FleetConfiguration(
            plan: plan, connections: connections ?? devices, broker: try connection.broker.address(settings))
        configuration.tls = try connection.broker.tls(settings)
        configuration.mqttVersion = try connection.broker.version(settings)
        if let seconds = try connection.broker.keepAlive(settings) { configuration.keepAlive = seconds }
        configuration.root = try connection.topicRoot(settings)
        configuration.backlogRate = max(1, try byteCount(backlogRate))
        configuration.patience = Int64(patience * 1e6)
        let wakeup = Wakeup()
        let interrupt = Interrupt(wakeup: wakeup)
        let progress = SimulateProgress()
        let outcome = try Fleet(configuration, wakeup: wakeup).run(
            until: { interrupt.hasCome }, progress: progress.show)
        progress.end()
        let report = FleetReport(outcome: outcome)
        Terminal.output.write(json ? report.json : report.text(for: .output))
        if !report.isComplete { throw ExitCode(1) }
    }
}

/// Reads the names of streams, separated by commas.
private func streamList(_ text: String) throws -> [SensorStream] {
    try text.split(separator: ",").reduce(into: []) { streams, name in
        guard let stream = StreamCatalog.builtIn.stream(named: String(name)) else {
            throw CommandFailure(
                "'\(name)' is no stream: known are \(SensorStream.builtIn.map(\.name).joined(separator: ", "))")
        }
        if !streams.contains(stream) { streams.append(stream) }
    }
}
