public import LockstepModel

/// A deletion with its outcome, as the store has it.
public struct StoredDeletion: Hashable, Sendable {
    /// The request.
    public let deletion: Deletion
    /// The number of samples that were deleted so far.
    public let count: Int64
    /// The number of samples that arrived later and were not stored.
    public let refused: Int64
    /// The time of its end, or nil while it is under way.
    public let done: Timestamp?

    /// Creates a deletion with its outcome.
    package init(deletion: Deletion, count: Int64, refused: Int64, done: Timestamp?) {
        self.deletion = deletion
        self.count = count
        self.refused = refused
        self.done = done
    }
}

/// What a deletion would delete of one stream on one day.
public struct DeletionDay: Hashable, Sendable {
    /// The name of the stream.
    public let stream: String
    /// The number of samples.
    public let count: Int64
    /// The times of the first and the last one. They are of the same day in UTC.
    public let first, last: Timestamp

    package init(stream: String, count: Int64, first: Timestamp, last: Timestamp) {
        self.stream = stream
        self.count = count
        self.first = first
        self.last = last
    }
}
