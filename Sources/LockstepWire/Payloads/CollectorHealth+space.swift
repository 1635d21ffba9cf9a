public import LockstepModel

extension CollectorHealth {
    /// The size of a store, and what leaves it.
    public struct Space: Hashable, Sendable {
        /// The sizes of the file, of its write-ahead log, and of the pages that are free for new samples, in bytes.
        public var file: Int
        public var log: Int
        public var free: Int
        /// The size that the content may have, in bytes; nil without a limit.
        public var limit: Int?
        /// The time at which the limit or the disk is reached at the present rate, or nil if that is not foreseeable.
        public var fullAt: Timestamp?
        /// The numbers of samples that have left the store, and that arrived too late for it, since the collector started.
        public var expired: Int
        public var late: Int
        /// The streams of which nothing leaves because a confirmation is missing.
        public var refused: [String]
        /// The id of a process that keeps the log from being emptied, and the time for which it has done so, in s.
        public var reader: Int?
        public var readerAge: Int?

        /// Creates a description.
        public init(
            file: Int, log: Int, free: Int, limit: Int? = nil, fullAt: Timestamp? = nil, expired: Int = 0,
            late: Int = 0,
            refused: [String] = [], reader: Int? = nil, readerAge: Int? = nil
        ) {
            self.file = file
            self.log = log
            self.free = free
            self.limit = limit
            self.fullAt = fullAt
            self.expired = expired
            self.late = late
            self.refused = refused
            self.reader = reader
            self.readerAge = readerAge
        }

        /// Writes the members.
        package func write(to object: inout JSONObjectWriter) {
            object.member("file", Int64(file))
            object.member("log", Int64(log))
            object.member("free", Int64(free))
            object.member("limit", ifPresent: limit.map(Int64.init))
            object.member("full_at", ifPresent: fullAt?.microseconds)
            object.member("expired", Int64(expired))
            object.member("late", Int64(late))
            object.member("refused", refused) { $0.string($1) }
            object.member("reader", ifPresent: reader.map(Int64.init))
            object.member("reader_age", ifPresent: readerAge.map(Int64.init))
        }

        init(_ object: JSONMembers) throws(PayloadError) {
            self.init(
                file: try object.required("file"), log: try object.required("log"), free: try object.required("free"),
                limit: try object.optional("limit"),
                fullAt: try object.optional("full_at"),
                expired: try object.required("expired"), late: try object.required("late"),
                refused: try object.optional("refused") ?? [], reader: try object.optional("reader"),
                readerAge: try object.optional("reader_age"))
        }
    }
}
