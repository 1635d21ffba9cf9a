import Foundation
import LockstepModel
import LockstepStore

/// The age of a sample when its row is committed and when another client of the broker receives it, while many other
/// devices are sending.
struct LatencyBenchmark {
    /// Folder of the built programs.
    let programs: String
    /// Durability of the collector's commits.
    let sync: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    /// The agent's default publishing window, in s.
    private static let window = 1.0
    /// The measured time, in s.
    private var span: Double { 20 * length }

    func run() throws -> [Comparison] {
        var committed: [[Double]] = []
        var seen: [[Double]] = []
        var stolen: [Double] = []
        let progress = RoundProgress(of: "latency", rounds: rounds)
        defer { StatusLine.clear() }
        for round in 0..<rounds {
            progress.show(round: round + 1, side: "both sides")
            let run = try StolenTime.during(measure)
            committed.append(run.result.committed)
            seen.append(run.result.seen)
            stolen.append(run.share)
        }
        return [(0.5, "median"), (0.99, "99th percentile")].map { part, name in
            let metric = Metric(name: "age of a sample, \(name)", unit: "ms")
            func side(_ name: String, _ rounds: [[Double]]) -> Comparison.Side {
                Comparison.Side(name: name, values: rounds.map { quantile(part, of: $0) * 1000 }, stolen: stolen)
            }
            let window = Array(repeating: Self.window * part * 1000, count: rounds)
            return Comparison(
                benchmark: "latency", metric: metric,
                sides: [
                    side("row committed", committed), side("received by another client", seen),
                    Comparison.Side(name: "the window alone", values: window),
                ])
        }
    }

    /// Returns the ages of all accelerometer samples of one agent, in s.
    private func measure() throws -> (committed: [Double], seen: [Double]) {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let store = folder + "/store.db"
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:" + store, "--sync", sync, "--log-level", "error"])
            defer { collector.stop() }
            try broker.wait(for: "lockstep/default/$collector/main")
            // 300 streams at 100 Hz: 30,000 samples a second, less than half of the collector's capacity.
            let others = try Launched(
                programs + "/lockstep",
                [
                    "simulate", "--broker", broker.url, "--devices", "100", "--connections", "10", "--sample-rate",
                    "100",
                    "--streams", "motion/accelerometer,motion/gyroscope,motion/magnetometer", "--seconds", "600",
                ])
            defer { others.stop() }
            let agent = try Launched(
                programs + "/lockstep-agent",
                [
                    "--broker", broker.url, "--device", "probe", "--source", "simulate", "--outbox", folder + "/outbox",
                    "--log-level", "error",
                ])
            defer { agent.stop() }
            let messages = folder + "/messages"
            let client = try broker.record("lockstep/default/probe/motion/accelerometer", into: messages)
            defer { client.stop() }
            // The last device, and the first sample of the measured one.
            try broker.wait(for: "lockstep/simulated/sim-0100/#")
            try waitUntil("a sample is seen", seconds: 60, every: 50) {
                ((try? String(contentsOfFile: messages, encoding: .utf8)) ?? "").contains("\n")
            }
            let ages = try committedAges(in: store)
            return (ages, try seenAges(in: messages))
        }
    }

    private func committedAges(in store: String) throws -> [Double] {
        let watch = try CommitWatch(store: store, devices: ["probe"])
        // The measured time itself.
        let begin = Moment.now().wall
        Thread.sleep(forTimeInterval: span)
        let ages = watch.stop().filter { $0.time >= begin }.map { Double($0.age) / 1e6 }
        guard !ages.isEmpty else { throw Failure("no sample of the device 'probe' was stored within \(span) s") }
        return ages
    }

    /// Lines of `time payload`, as mosquitto_sub writes them.
    private func seenAges(in file: String) throws -> [Double] {
        struct Payload: Decodable {
            let t: Int64
            let dt: Int64
            let x: [Double]
        }
        let ages = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").dropFirst(3).flatMap {
            line -> [Double] in
            let parts = line.split(separator: " ", maxSplits: 1)
            // Skip an incomplete last line, and batches with an array of steps.
            guard parts.count == 2, let seen = Double(parts[0]),
                let batch = try? JSONDecoder().decode(Payload.self, from: Data(parts[1].utf8))
            else { return [] }
            return batch.x.indices.map { seen - Double(batch.t + Int64($0) * batch.dt) / 1e6 }
        }
        guard !ages.isEmpty else { throw Failure("another client received no sample of the device 'probe'") }
        return ages
    }
}
