import Foundation

/// How much of the cores' time the host of a virtual machine has given to others while programs here wanted it.
///
/// Figures of a run from which much was taken say little about the programs.
struct StolenTime {
    private let stolen: Double
    private let total: Double

    /// The times since the machine's start.
    init() throws {
        let line = try String(contentsOfFile: "/proc/stat", encoding: .utf8).prefix { $0 != "\n" }
        // user, nice, system, idle, iowait, irq, softirq, steal; what guests had is part of user and nice.
        let times = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard times.count == 8 else { throw Failure("no times of the cores in /proc/stat") }
        stolen = times[7]
        total = times.reduce(0, +)
    }

    /// % of the time of all cores since `start`.
    func share(since start: StolenTime) -> Double {
        guard total > start.total else { return 0 }
        return (stolen - start.stolen) / (total - start.total) * 100
    }

    /// Does something, and tells what was stolen meanwhile, in %.
    static func during<Result>(_ work: () throws -> Result) throws -> (result: Result, share: Double) {
        let start = try StolenTime()
        let result = try work()
        return (result, try StolenTime().share(since: start))
    }
}
