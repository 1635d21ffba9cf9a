public import LockstepModel

/// What leaves a store, and when.
public struct Retention: Sendable {
    /// How long samples are kept.
    public var rules = KeepRules.everything
    /// How long the summaries of minutes are kept whose samples have left. Without a rule, they leave with the samples.
    public var summaryRules = KeepRules.everything
    /// The greatest size of the store, or nil for no limit.
    public var maxSize: SizeLimit?
    /// The streams whose oldest samples leave first when the store has reached its greatest size. The others follow in the
    /// order of their rates, the highest first.
    public var order: [StreamPattern] = []
    /// Whether more than half of the samples of a stream may leave at once.
    public var isConfirmed = false
    /// Receives what has happened.
    public var report: (@Sendable (Event) -> Void)?
    /// Returns the wall clock, in µs since 1970. Tests replace it.
    package var wallTime: @Sendable () -> Int64 = { Moment.now().wall.microseconds }
    /// Returns the free space of the disk of a file, in bytes, or nil if it is unknown.
    package var freeSpace: @Sendable (String) -> Int64? = { diskSpace(at: $0)?.free }
    /// The time after which the rules are applied again.
    package var interval = Duration.seconds(60)

    /// Creates retention that keeps everything.
    public init() {}

    /// Whether nothing ever leaves.
    var keepsEverything: Bool { !hasAges && maxSize == nil }

    /// Whether samples, or summaries whose samples have left, ever leave because of their age.
    var hasAges: Bool { !rules.keepsEverything || !summaryRules.keepsEverything }

    /// Returns whether minutes of a stream of a device keep their summaries when their samples leave.
    func keepsSummaries(of stream: String, _ device: DeviceAddress) -> Bool {
        summaryRules.hasRule(for: stream, device)
    }

    /// Returns the time before which summaries of minutes leave whose samples have left, or nil if all of them stay.
    /// - Parameter limit: the time before which the samples have left.
    func summaryLimit(of stream: String, _ device: DeviceAddress, at now: Int64, samples limit: Int64) -> Int64? {
        guard keepsSummaries(of: stream, device) else { return limit }
        return summaryRules.age(of: stream, device).map { min(limit, KeepRules.limit(ofAge: $0, at: now)) }
    }

    /// What has happened, for the log.
    public enum Event: Sendable, Hashable {
        /// Samples have left, by the rules or because the store has reached its greatest size.
        case expired(samples: Int, isForSpace: Bool)
        /// Samples have not left, because a confirmation is missing.
        case refused(Refusal)
        /// The store is larger than its limit, though only the newest hour of each stream is left.
        case tooSmall
        /// Samples could not be deleted. This is tried again.
        case failed(String)
        /// Samples leave without what was refined from them, which cannot be read. It leaves when it can be.
        case refinedLeftOut(String)
        /// At the present rate, the store or its disk is full at this time.
        case fillingUp(Timestamp)
    }

    /// Samples that would have left together, and did not.
    public struct Refusal: Sendable, Hashable {
        /// The stream.
        public let stream: String
        /// The number of samples that would have left.
        public let samples: Int
        /// The number of the others, at most as many as that.
        public let others: Int

        package init(stream: String, samples: Int, others: Int) {
            self.stream = stream
            self.samples = samples
            self.others = others
        }
    }
}

/// The greatest size of a store.
public enum SizeLimit: Hashable, Sendable {
    /// A number of bytes.
    case bytes(Int64)
    /// A share of the disk, from 0 to 1.
    case share(Double)

    /// Returns the size that pages with content may have, in bytes: the write-ahead log needs some of the limit.
    /// - Parameter disk: the size of the disk, or nil if it is unknown.
    func content(onDisk disk: Int64?) -> Int64? {
        let size: Int64? =
            switch self {
            case .bytes(let bytes): bytes
            case .share(let share): disk.map { Int64(Double($0) * share) }
            }
        return size.map { $0 - min($0 / 10, 64 << 20) }
    }
}

/// Predicts when a store is full, by its growth during a day.
struct SpaceForecast {
    private static let day: Int64 = 86_400_000_000
    private static let minute: Int64 = 60_000_000
    /// The sizes in bytes at times of the boot clock in µs, at least a minute apart.
    private var sizes: [(at: Int64, size: Int64)] = []

    /// Records the size of the content.
    mutating func record(_ size: Int64, at boot: Int64) {
        if let last = sizes.last, boot - last.at < Self.minute { return }
        sizes.append((boot, size))
        if let first = sizes.first, boot - first.at > Self.day { sizes.removeFirst() }
    }

    /// Returns the time in µs after which `rest` more bytes are stored at the present rate; nil if the store does not grow, or
    /// was observed for less than ten minutes.
    func time(until rest: Int64) -> Int64? {
        guard let first = sizes.first, let last = sizes.last, last.at - first.at >= 10 * Self.minute,
            last.size > first.size
        else { return nil }
        let rate = Double(last.size - first.size) / Double(last.at - first.at)
        // Longer forecasts tell nothing.
        let time = Double(max(0, rest)) / rate
        return time < 1000 * Double(Self.day) ? Int64(time) : nil
    }
}
