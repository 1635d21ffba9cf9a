import Foundation

/// What an agent costs that does all it can: three motion sensors, device motion at 100 Hz, steps, orientation and
/// location, all published to a broker on this machine, with the outbox on disk.
struct AgentBenchmark {
    /// Folder of the built programs.
    let programs: String
    /// s to measure, after 5 s to start.
    let seconds: Int

    /// Part of a core in %, and MB at its peak.
    func run() throws -> [Double] {
        try withFolder { folder in
            let broker = try BenchBroker(in: folder)
            defer { broker.stop() }
            let agent = try Launched(
                programs + "/lockstep-agent",
                [
                    "--broker", broker.url, "--device", "bench", "--source", "simulate", "--ack", "broker",
                    "--rate", "motion/device=100", "--outbox", folder + "/outbox",
                ])
            defer { agent.stop() }
            // Time is what is measured against here: first until it is connected and all streams come, then the span.
            Thread.sleep(forTimeInterval: 5)
            let before = try agent.cpuTime()
            Thread.sleep(forTimeInterval: Double(seconds))
            let after = try agent.cpuTime()
            return [(after - before) / Double(seconds) * 100, Double(try agent.peakMemory()) / 1e6]
        }
    }
}
