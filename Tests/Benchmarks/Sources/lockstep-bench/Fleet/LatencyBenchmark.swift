import Foundation
import LockstepModel
import LockstepStore

/// How old a sample is when its row is committed, and when another client of the broker sees it, while many other
/// devices send as well.
struct LatencyBenchmark {
    /// Folder of the built programs.
    let programs: String
    let rounds: Int

    /// s of a coalescing window, the agent's default.
    private static let window = 1.0
    /// s to measure.
    private static let span = 20.0

    func run() throws -> [Comparison] {
        var committed: [[Double]] = []
        var seen: [[Double]] = []
        var stolen: [Double] = []
        for _ in 0..<rounds {
            let run = try StolenTime.during(measure)
            committed.append(run.result.committed)
            seen.append(run.result.seen)
            stolen.append(run.share)
        }
        return [(0.5, "half"), (0.99, "99 %")].map { part, name in
            let metric = Metric(name: "age of a sample, \(name) of them below", unit: "ms")
            func side(_ name: String, _ rounds: [[Double]]) -> Comparison.Side {
                Comparison.Side(name: name, values: rounds.map { quantile(part, of: $0) * 1000 }, stolen: stolen)
            }
            let window = Array(repeating: Self.window * part * 1000, count: rounds)
            return Comparison(
                benchmark: "latency", metric: metric,
                sides: [
                    side("row committed", committed), side("seen by another client", seen),
                    Comparison.Side(name: "the window alone", values: window),
                ])
        }
    }

    /// Ages in s of all samples of one agent's accelerometer.
    private func measure() throws -> (committed: [Double], seen: [Double]) {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let store = folder + "/store.db"
            let collector = try Launched(
                programs + "/lockstep-collector",
                ["--broker", broker.url, "--store", "sqlite:" + store, "--log-level", "error"])
            defer { collector.stop() }
            try broker.wait(for: "lockstep/default/$collector/main")
            // 300 streams at 100 Hz: 30,000 samples a second, below half of what the collector takes.
            let others = try Launched(
                programs + "/lockstep",
                [
                    "simulate", "--broker", broker.url, "--devices", "100", "--connections", "10", "--rate", "100",
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
            let ages = try committedAges(in: store)
            return (ages, try seenAges(in: messages))
        }
    }

    private func committedAges(in store: String) throws -> [Double] {
        let watch = try CommitWatch(store: store, devices: ["probe"])
        // Time is what is measured against here. Of the first seconds, while all start, nothing is noted.
        let begin = Moment.now().wall + 3_000_000
        Thread.sleep(forTimeInterval: 3 + Self.span)
        let ages = watch.stop().filter { $0.time >= begin }.map { Double($0.age) / 1e6 }
        guard !ages.isEmpty else { throw Failure("no row of the probe's came within \(Self.span) s") }
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
            // The last line may be cut off; a batch whose steps differ has an array.
            guard parts.count == 2, let seen = Double(parts[0]),
                let batch = try? JSONDecoder().decode(Payload.self, from: Data(parts[1].utf8))
            else { return [] }
            return batch.x.indices.map { seen - Double(batch.t + Int64($0) * batch.dt) / 1e6 }
        }
        guard !ages.isEmpty else { throw Failure("another client has seen nothing of the probe") }
        return ages
    }
}
