import ArgumentParser
import Foundation

/// The options of the benchmarks `writes` and `merges`.
struct WritesOptions: ParsableArguments {
    @Option(
        help: "Duration of a run of 'writes' (default: 30, or 6 with --quick) or samples of 'merges' (300, 60), in s.")
    var seconds: Int?

    @Option(help: "Fleets of 'writes' and 'merges', separated by commas: DEVICES or DEVICES:SAMPLES-PER-MESSAGE.")
    var devices: String?

    @Option(help: "Older rows of each device that are in the store before a run of 'writes' or 'merges'.")
    var prefill = 0

    var fleets: [WritesFleet] { devices.map(Self.fleets) ?? WritesFleet.standard }

    func validate() throws {
        guard (1...3600).contains(seconds ?? 1) else {
            throw ValidationError("--seconds takes a number from 1 to 3600")
        }
        guard (0...1_000_000).contains(prefill) else {
            throw ValidationError("--prefill takes a number from 0 to 1000000")
        }
        guard let devices else { return }
        guard Self.fleets(devices).count == devices.split(separator: ",", omittingEmptySubsequences: false).count else {
            throw ValidationError("--devices takes numbers up to 100000 such as 100,10000 or 100:1, not '\(devices)'")
        }
    }

    private static func fleets(_ text: String) -> [WritesFleet] {
        text.split(separator: ",").compactMap { WritesFleet(String($0)) }
    }
}

/// The bytes that a collector writes for a byte of rows, and its CPU time, for fleets of different sizes that record
/// the same number of samples a second. Each fleet is measured once, because the bytes hardly vary.
struct WritesBenchmark {
    let programs: String
    /// Durability of the collector's commits: one or two modes.
    let syncs: [String]
    let options: WritesOptions
    /// The duration of a run, in s.
    let seconds: Int
    let json: Bool

    private static let maxAmplification = 3.0
    private static let maxCPURatio = 1.5

    func run() throws {
        let table = WritesTable(json: json)
        table.writeHeader(seconds: seconds, prefill: options.prefill)
        let progress = RoundProgress(of: "writes", rounds: syncs.count * options.fleets.count)
        defer { StatusLine.clear() }
        var results: [WritesResult] = []
        for sync in syncs {
            for fleet in options.fleets {
                progress.show(round: results.count + 1, side: "\(fleet) devices, --sync \(sync)")
                let result = try measure(fleet, sync: sync)
                table.write(result)
                results.append(result)
            }
        }
        for sync in syncs { writeGoals(of: results.filter { $0.sync == sync }, sync: sync, to: table) }
    }

    private func measure(_ fleet: WritesFleet, sync: String) throws -> WritesResult {
        try withFolder { folder in
            let load = try WritesLoad(fleet, seconds: seconds, prefill: options.prefill, in: folder)
            let run = WritesRun(programs: programs, sync: sync, load: load, folder: folder)
            let (measured, share) = try StolenTime.during(run.run)
            var result = measured
            result.stolen = share
            return result
        }
    }

    private func writeGoals(of results: [WritesResult], sync: String, to table: WritesTable) {
        let limit = Self.maxAmplification
        if let worst = results.map(\.amplification).max() {
            table.writeGoal("bytes for a byte of rows, \(sync)", value: worst, limit: limit)
        }
        if let worst = results.map(\.liveAmplification).max() {
            table.writeGoal("bytes for a byte of rows without the start, \(sync)", value: worst, limit: limit)
        }
        guard let few = results.first(where: { $0.fleet == .manySmall }),
            let many = results.first(where: { $0.fleet == .manyDevices })
        else { return }
        table.writeGoal(
            "CPU of a message from 10,000 devices to that from 100, \(sync)",
            value: many.cpuPerMessage / few.cpuPerMessage, limit: Self.maxCPURatio)
    }
}
