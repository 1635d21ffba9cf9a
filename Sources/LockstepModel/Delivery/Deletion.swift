/// A person's request to delete the samples of a device in a range of times.
///
/// Samples of these times are not stored either when they arrive later.
public struct Deletion: Hashable, Sendable {
    /// The earliest time of a range: a JavaScript number represents it exactly.
    public static let earliest: Int64 = -9_007_199_254_740_991
    /// The latest end of a range.
    public static let latest: Int64 = 9_007_199_254_740_991

    /// The random id of the request, so that it is carried out once.
    public var id: String
    /// The device.
    public var device: DeviceAddress
    /// The name of the stream, or nil for all streams.
    public var stream: String?
    /// The times, in µs since 1970.
    public var times: Range<Int64>
    /// The time of the request, on the collector's clock.
    public var at: Timestamp
    /// Who has asked for it, as the client has given it.
    public var who: String?
    /// Why, as the client has given it.
    public var reason: String?
    /// Whether the space that becomes free is overwritten.
    public var isSecure: Bool
    /// Whether no stored sample is deleted: those of these times are only not stored any more from now on.
    public var onlyRefuses: Bool

    /// Creates a request.
    public init(
        id: String, device: DeviceAddress, stream: String? = nil, times: Range<Int64>, at: Timestamp,
        who: String? = nil, reason: String? = nil, isSecure: Bool = false,
        onlyRefuses: Bool = false
    ) {
        self.id = id
        self.device = device
        self.stream = stream
        self.times = times
        self.at = at
        self.who = who
        self.reason = reason
        self.isSecure = isSecure
        self.onlyRefuses = onlyRefuses
    }

    /// Whether it is about everything of the device before the end of the range.
    public var isWhole: Bool { stream == nil && times.lowerBound <= Self.earliest }

    /// Returns whether it is about a stream.
    public func covers(_ stream: SensorStream) -> Bool { self.stream.map { $0 == stream.name } ?? true }
}

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
