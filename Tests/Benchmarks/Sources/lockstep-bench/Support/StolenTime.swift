import Foundation

/// The stolen time of a virtual machine: CPU time that the host gave to other guests while programs here were ready to
/// run.
///
/// Results with much stolen time are unreliable.
struct StolenTime {
    private let stolen: Double
    private let total: Double

    /// Reads the totals since boot.
    init() throws {
        let line = try String(contentsOfFile: "/proc/stat", encoding: .utf8).prefix { $0 != "\n" }
        // user, nice, system, idle, iowait, irq, softirq, steal. Guest time is included in user and nice.
        let times = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        guard times.count == 8 else { throw Failure("cannot read CPU times from /proc/stat") }
        stolen = times[7]
        total = times.reduce(0, +)
    }

    /// Returns the stolen time since `start`, in % of the time of all cores.
    func share(since start: StolenTime) -> Double {
        guard total > start.total else { return 0 }
        return (stolen - start.stolen) / (total - start.total) * 100
    }

    /// Does some work and returns its result with the stolen time meanwhile, in %.
    static func during<Result>(_ work: () throws -> Result) throws -> (result: Result, share: Double) {
        let start = try StolenTime()
        let result = try work()
        return (result, try StolenTime().share(since: start))
    }
}
