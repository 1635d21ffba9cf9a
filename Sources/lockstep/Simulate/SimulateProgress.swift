import LockstepAgent
import LockstepCommandLine
import LockstepModel

/// The progress of a simulation.
enum SimulateProgress {
    static func line(_ outcome: FleetOutcome) -> String {
        let lag = outcome.liveLag.quantile(0.99).map { ", p99 latency \(fixed(Double($0) / 1000, 0)) ms" } ?? ""
        let memory = outcome.collectors.collectors.values.compactMap(\.memory.last).max()
        return "\(outcome.elapsed / 1_000_000) s: \(counted(outcome.sent.batches, "batch", "batches")) sent, "
            + "\(outcome.acknowledged.batches) acknowledged\(lag)"
            + (memory.map { ", collector \($0 >> 20) MB" } ?? "")
    }
}
