/// Why a store can't be opened, written or read, and what to do about it.
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of trouble it is.
    public enum Code: Hashable, Sendable {
        /// Another process writes to this store.
        case inUse
        /// There is no such file or folder.
        case missing
        /// The file or its folder doesn't allow what is needed.
        case notAllowed
        /// The file is no database, or another program's.
        case notAStore
        /// A newer program wrote it, or an older one and it was only to be read.
        case schema
        /// No space is left. Nothing was written, and a later write may succeed.
        case full
        /// Another connection held a lock for too long. Nothing was written, and a later write may succeed.
        case busy
        /// The file is damaged.
        case corrupt
        /// Anything else that SQLite reports.
        case other
    }

    public let code: Code
    /// What happened, where, and what to do.
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    /// Whether no space is left: nothing was written, and a later write may succeed.
    public var isFull: Bool { code == .full }
    /// Whether to try again: nothing was written, and a later write may succeed.
    public var isBusy: Bool { code == .busy }
}
