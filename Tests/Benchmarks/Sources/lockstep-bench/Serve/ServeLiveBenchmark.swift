import Foundation

/// CPU of `lockstep-serve` with 200 clients that receive the live samples of one device, compared with a mosquitto that
/// delivers the same samples to 200 MQTT subscribers.
///
/// An agent publishes three streams at 100 Hz in windows of 0.1 s. So each client gets 30 events or messages a second.
struct ServeLiveBenchmark {
    /// Folder of the built programs.
    let programs: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    private static let clients = 200
    private static let streams = ["motion/accelerometer", "motion/gyroscope", "motion/magnetometer"]
    /// The measured time, in s.
    private var span: Double { 20 * length }

    func run() throws -> [Comparison] {
        try compare(
            "serve-live",
            [
                Metric(name: "CPU", unit: "% of a core", digits: 1),
                Metric(name: "events of a client", unit: "events/s", digits: 1),
                Metric(name: "memory", unit: "MB", digits: 1),
            ],
            rounds: rounds,
            [
                Contender(name: "lockstep-serve, \(Self.clients) clients") { try withFolder(measureServe) },
                Contender(name: "mosquitto, \(Self.clients) subscribers") { try withFolder(measureBroker) },
            ])
    }

    private func measureServe(in folder: String) throws -> [Double] {
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        let agent = try startAgent(broker, in: folder)
        defer { agent.stop() }
        let port = Int.random(in: 30_001...32_000)
        let server = try Launched(
            programs + "/lockstep-serve",
            ["--broker", broker.url, "--listen", "127.0.0.1:\(port)", "--log-level", "error"])
        defer { server.stop() }
        let path = "/api/v1/live?device=default/bench&hz=10" + Self.streams.map { "&stream=" + $0 }.joined()
        return try measure(server, agent, in: folder) { output in
            // The clients fail if the server does not listen yet.
            try waitUntil("lockstep-serve listens on port \(port)", seconds: 20, every: 100) {
                (try? Launched.run("curl", ["--silent", "--fail", "http://127.0.0.1:\(port)/healthz"])) != nil
            }
            return try Launched(Launched.beside("read-events"), ["\(port)", path, "\(Self.clients)"], output: output)
        }
    }

    private func measureBroker(in folder: String) throws -> [Double] {
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        let agent = try startAgent(broker, in: folder)
        defer { agent.stop() }
        return try measure(broker.process, agent, in: folder) { output in
            try Launched(
                Launched.beside("subscribe-many"),
                ["\(broker.port)", "lockstep/default/bench/motion/+", "\(Self.clients)"], output: output)
        }
    }

    private func startAgent(_ broker: BenchBroker, in folder: String) throws -> Launched {
        let rates = Self.streams.flatMap { ["--rate", $0 + "=100"] }
        return try Launched(
            programs + "/lockstep-agent",
            [
                "--broker", broker.url, "--device", "bench", "--source", "simulate", "--outbox", folder + "/outbox",
                "--ack", "broker", "--window", "100ms", "--log-level", "error", "--rate", "motion/device=off",
            ] + rates)
    }

    /// Returns the CPU use of `program` in % of a core, the events per second of a client, and the peak memory of `program` in
    /// MB.
    /// - Parameter start: Starts the clients, which write their counts to a file.
    private func measure(
        _ program: Launched, _ agent: Launched, in folder: String, _ start: (FileHandle) throws -> Launched
    ) throws -> [Double] {
        let file = folder + "/counts"
        guard FileManager.default.createFile(atPath: file, contents: nil),
            let output = FileHandle(forWritingAtPath: file)
        else { throw Failure("cannot write \(file)") }
        let clients = try start(output)
        defer { clients.stop() }
        // First, all clients must receive events.
        try waitUntil("all clients receive events", seconds: 60, every: 200) {
            try agent.checkRunning()
            return lines(of: file).last.map { $0[0] == Double(Self.clients) && $0[1] > Double(10 * Self.clients) }
                ?? false
        }
        let begin = (cpu: try program.cpuTime(), lines: lines(of: file).count)
        Thread.sleep(forTimeInterval: span)
        let (cpu, counts) = (try program.cpuTime(), lines(of: file))
        guard let last = counts.last, counts.count > begin.lines, last[0] == Double(Self.clients) else {
            throw Failure("some of the \(Self.clients) clients lost their connection")
        }
        let seconds = Double(counts.count - begin.lines)
        let events = (last[1] - counts[begin.lines - 1][1]) / seconds / Double(Self.clients)
        return [(cpu - begin.cpu) / span * 100, events, Double(try program.peakMemory()) / 1e6]
    }

    /// The complete lines of a file, each with three numbers.
    private func lines(of file: String) -> [[Double]] {
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").compactMap { Double($0) } }
            .filter { $0.count == 3 }
    }
}
