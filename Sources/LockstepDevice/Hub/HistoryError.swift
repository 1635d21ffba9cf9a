public import LockstepModel

/// An error of a query for the past.
public enum HistoryError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no history.
    case noHistory
    /// The end of the interval is not after its start.
    case emptyInterval(Timestamp, Timestamp)

    /// A description of the problem, with advice.
    public var description: String {
        switch self {
        case .noHistory:
            "past samples are not available: create the pedometer or manager with a history, such as a store or an outbox"
        case .emptyInterval(let start, let end): "the end of the interval (\(end)) is not after its start (\(start))"
        }
    }
}
