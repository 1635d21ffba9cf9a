import Foundation

/// CPU and memory of an agent with all its features, compared with a C program that only publishes each sample.
///
/// Both play the same recording of accelerometer, gyroscope and magnetometer at 100 Hz to a broker on this machine. The
/// agent also computes device motion, counts steps, publishes batches of one second, and keeps them in its outbox.
struct AgentBenchmark {
    /// Folder of the built programs.
    let programs: String
    /// The folder of the recordings.
    let recordings: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    /// The measured time, in s.
    private var span: Double { 30 * length }

    func run() throws -> [Comparison] {
        try withFolder { folder in
            let recording = folder + "/recording.csv"
            try writeRecording(to: recording)
            return try compare(
                "agent",
                [Metric(name: "CPU", unit: "% of a core", digits: 2), Metric(name: "memory", unit: "MB", digits: 1)],
                rounds: rounds,
                [
                    Contender(name: "lockstep-agent") {
                        try measure(after: "lockstep/default/bench/motion/device") { broker, folder in
                            try Launched(
                                programs + "/lockstep-agent",
                                [
                                    "--broker", broker.url, "--device", "bench", "--source", "replay:" + recording,
                                    "--ack", "broker", "--rate", "motion/device=100", "--outbox", folder + "/outbox",
                                ])
                        }
                    },
                    Contender(name: "C, a message a sample") {
                        try measure(after: "samples/#") { broker, _ in
                            try Launched(Launched.beside("publish-samples"), ["\(broker.port)", recording])
                        }
                    },
                ])
        }
    }

    /// Returns the CPU use in % of a core and the peak memory in MB, from the first message on a topic on.
    private func measure(
        after topic: String, _ start: (BenchBroker, String) throws -> Launched
    ) throws -> [Double] {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let program = try start(broker, folder)
            defer { program.stop() }
            // CPU use is measured per time, while all streams run.
            try broker.wait(for: topic)
            let before = try program.cpuTime()
            Thread.sleep(forTimeInterval: span)
            let after = try program.cpuTime()
            return [(after - before) / span * 100, Double(try program.peakMemory()) / 1e6]
        }
    }

    /// Writes a recording at 100 Hz: every 10 ms, the nearest line of a trial, which has 286 lines per second.
    private func writeRecording(to path: String) throws {
        let trial = recordings + "/orientation/06_undisturbed_fast_rotation_A.csv"
        let lines = try String(contentsOfFile: trial, encoding: .utf8).split(separator: "\n")
        let columns = 10
        let names = lines[0].split(separator: ",").prefix(columns).joined(separator: ",")
        var text = names + "\n"
        // Longer than the measured time by what the start takes.
        for tick in 0..<Int(span + 10) * 100 {
            let line = 1 + Int((Double(tick) * 10_000 / 3500).rounded())
            guard line < lines.count else { throw Failure("\(trial) is too short") }
            let values = lines[line].split(separator: ",").prefix(columns).dropFirst()
            text += "\(tick * 10_000)," + values.joined(separator: ",") + "\n"
        }
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }
}
