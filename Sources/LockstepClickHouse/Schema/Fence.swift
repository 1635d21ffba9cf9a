import LockstepModel

/// The versions of rows about devices and states. The row with the highest version counts.
///
/// A collector that has the store to itself uses the time in µs. The collectors of a cluster use the token of their claim,
/// followed by a counter of 32 bits, so that a row of an earlier claim never replaces a row of a later one. Tokens are at
/// least the time of the first claim in s since 1970, so that versions with a token are higher than all others.
enum Fence {
    /// The lowest version with a token.
    private static let lowest: UInt64 = 1 << 60

    /// The version that precedes all versions of a claim.
    static func start(of token: FencingToken) -> UInt64 { UInt64(token.rawValue) << 32 }

    /// Returns the lowest token whose versions are all higher than `version`, or nil if there is none.
    static func next(after version: UInt64) -> FencingToken? {
        UInt32(exactly: max(version, lowest - 1) >> 32 + 1).map(FencingToken.init(rawValue:))
    }

    /// Returns the SQL expression of the token in a version; 0 for a version that is a time.
    ///
    /// A transition counts only if no later claim has written about the device at the same or a lower number: a later
    /// claim writes the last transition that it has found again, and continues after it.
    static func sql(_ version: String) -> String {
        "if(\(version) < \(lowest), toUInt64(0), bitShiftRight(\(version), 32))"
    }
}
