import ArgumentParser
import LockstepCommandLine
import LockstepModel

/// The options `--from`, `--to` and `--local`.
struct TimeRangeOptions: ParsableArguments {
    @Option(parsing: .unconditional, help: "Start of the time range, inclusive.")
    var from: String?

    @Option(parsing: .unconditional, help: "End of the time range, exclusive.")
    var to: String?

    @OptionGroup var zone: ZoneOptions

    /// Returns the time range.
    /// - Throws: ``CommandFailure`` for an invalid or empty range.
    func range(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        let (from, to) = try times(now: now)
        if let from, let to, from >= to {
            throw CommandFailure("--from \(from.shown(decimals: 6)) is not before --to \(to.shown(decimals: 6))")
        }
        return (from, to)
    }

    /// Returns the time range, which may be empty.
    /// - Throws: ``CommandFailure`` for an invalid range.
    func rangeOrEmpty(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        let (from, to) = try times(now: now)
        if let from, let to, from > to {
            throw CommandFailure("--from \(from.shown(decimals: 6)) is after --to \(to.shown(decimals: 6))")
        }
        return (from, to)
    }

    private func times(now: Timestamp) throws -> (from: Timestamp?, to: Timestamp?) {
        (try from.map { try time($0, now: now) }, try to.map { try time($0, now: now) })
    }
}
