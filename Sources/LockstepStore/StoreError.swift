public import LockstepModel

/// An error thrown when opening, writing or reading a store.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The category of an error.
    public enum Code: Hashable, Sendable {
        /// Another process has opened this store for writing.
        case inUse
        /// The file or folder does not exist, or was removed, moved or replaced while the store is open. In the second case,
        /// a later write may succeed.
        case missing
        /// The permissions of the file or its folder do not allow the operation.
        case notAllowed
        /// The file is not a database, or is the database of another program.
        case notAStore
        /// The schema version does not match: a newer program wrote the store, or a reader found an older schema.
        case schema
        /// A declared stream differs from the stream or table in the store.
        case streams
        /// No space is left on the disk. Nothing was written, and a later write may succeed.
        case full
        /// Another connection held a lock for too long. Nothing was written, and a later write may succeed.
        case busy
        /// The file is damaged.
        case corrupt
        /// The server of the store does not answer. Data may have been written, and a later write may succeed.
        case unreachable
        /// The server of the store reports an error. Data may have been written.
        case server
        /// A ``QueryCancellation`` ended the query.
        case cancelled
        /// Any other error.
        case other
    }

    /// The category.
    public let code: Code
    /// What happened, where, and what to do.
    public let description: String
    /// The name of the declared stream that caused an error with the code ``Code/streams``.
    public let stream: String?
    /// The lowest token with which the devices can be taken over, after a takeover with a lower one was refused.
    public let neededToken: FencingToken?

    /// Whether the network, or the hosts of all servers of the store, do not answer. A server that is slow does not count
    /// if it has accepted the connection, nor does one that is not running. One that accepts no connection in time counts,
    /// also because its queue is full or the name server is slow. The code is ``Code/unreachable``.
    public let isCutOff: Bool

    /// Creates an error with a description of what happened, where, and what to do.
    public init(
        _ code: Code, _ description: String, stream: String? = nil, neededToken: FencingToken? = nil,
        isCutOff: Bool = false
    ) {
        self.code = code
        self.description = description
        self.stream = stream
        self.neededToken = neededToken
        self.isCutOff = isCutOff
    }

    /// Whether the disk is full. Nothing was written, and a later write may succeed.
    public var isFull: Bool { code == .full }
    /// Whether the store may be opened if this is tried again soon: a server does not answer, is busy, or another collector
    /// changes the tables at the same time.
    public var mayPass: Bool {
        switch code {
        case .unreachable, .server, .busy: true
        default: false
        }
    }
    /// Whether the store was locked. Nothing was written, and a later write may succeed.
    public var isBusy: Bool { code == .busy }
}
