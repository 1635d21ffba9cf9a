/// The measurements of one fleet.
struct WritesResult {
    let fleet: WritesFleet
    let sync: String
    /// The number of older rows of each device in the store.
    let prefill: Int
    let messages: Int
    let samples: Int
    /// The bytes of the new rows in their table.
    let rowBytes: Int
    /// The resources that the collector used from its start until after its end.
    let total: AccountedProcess.Account
    /// The resources that the collector used from when it knew all devices until after its end.
    let live: AccountedProcess.Account
    /// The CPU time of the collector from when it knew all devices to the commit of the last sample, in s.
    let cpu: Double
    /// The number of commits in the same time.
    let commits: Int
    /// The number of checkpoints, including that at the end.
    let checkpoints: Int
    /// The time from the first message to the commit of the last sample, in s.
    let seconds: Double
    /// The measurements of the C program.
    let appended: Appended
    /// How late the latest message was published, in s.
    let lateness: Double
    /// The stolen time, in % of the CPU time.
    var stolen = 0.0

    struct Appended {
        let cpu: Double
        let written: Int
        let passed: Int
    }

    /// The bytes that the collector wrote for a byte of rows.
    var amplification: Double { Double(total.written) / Double(rowBytes) }
    /// The same without those before the first sample.
    var liveAmplification: Double { Double(live.written) / Double(rowBytes) }
    var appendedAmplification: Double { Double(appended.written) / Double(rowBytes) }
    var passedAmplification: Double { Double(total.passed) / Double(rowBytes) }
    var ratio: Double { Double(total.written) / Double(appended.written) }
    var cpuPerSample: Double { cpu / Double(samples) * 1e6 }
    var cpuPerMessage: Double { cpu / Double(messages) * 1e6 }
    var appendedCPUPerSample: Double { appended.cpu / Double(samples) * 1e6 }
}
