/// The number of a claim of a share. A later claim of the same share has a higher token.
///
/// A store ignores what an earlier claim wrote about states after a later claim has taken over. The tokens of a share are
/// given out with its lease, see the type `LeaseClaim` of the collector.
public struct FencingToken: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number.
    public let rawValue: UInt32

    /// Creates a token.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The number as text.
    public var description: String { "\(rawValue)" }

    /// Returns whether `left` is of an earlier claim than `right`.
    public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
