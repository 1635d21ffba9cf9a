public import LockstepModel

/// Collects samples into batches: one batch per stream and window, or more if a stream has many samples.
public struct Coalescer: Sendable {
    /// The limits of a window and its batches.
    public struct Limits: Sendable, Hashable {
        /// The time from the first sample of a window until its batches are ready, in µs.
        ///
        /// The age of the first sample is subtracted, but at most a tenth of the window, so that a late sample does not
        /// shorten the window much.
        public var window: Int64
        /// The maximum number of samples in a batch. A batch of this size is ready at once.
        public var samples: Int
        /// The maximum estimated payload of a batch in bytes. A batch of this size is ready at once.
        public var bytes: Int

        /// Creates limits. The window is in µs; the defaults are 1 s, 1000 samples and 64 KiB.
        public init(window: Int64 = 1_000_000, samples: Int = 1000, bytes: Int = 65_536) {
            self.window = window
            self.samples = samples
            self.bytes = bytes
        }

        /// The maximum age of the first sample that is subtracted from the window, in µs: a tenth of the window.
        var maxAge: Int64 { window / 10 }

        /// The recommended linger of sources, in µs: how long they collect samples before they hand them over.
        ///
        /// It is a tenth of the window, so that it does not delay batches; at least 10,000, to limit the CPU load; and
        /// at most 100,000, because a longer linger saves little and delays changes of the rates.
        public var linger: Int64 { min(max(maxAge, 10_000), 100_000) }
    }

    /// The maximum time between samples of a batch, in µs: half of what collectors accept as a time in the future.
    private static let maxGap: Int64 = 43_200_000_000

    private let limits: Limits
    /// The largest packet that the broker accepts, in bytes, or nil if unknown. A batch exceeds it only if a
    /// single sample does.
    public var packetLimit: Int?
    /// The batches being collected, in the order in which their streams first had a sample.
    private var open: [SampleBlock] = []
    /// The batches that have reached a limit.
    private var full: [SampleBlock] = []
    /// The start of the window in µs of the boot clock, or nil if no window is open.
    private var openedAt: Int64?

    /// Creates an empty coalescer.
    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Adds samples to the open batch of their stream.
    /// - Parameters:
    ///   - boot: the current time in µs of the boot clock.
    ///   - age: the age of the first sample in µs.
    public mutating func add(_ block: SampleBlock, at boot: Int64, age: Int64 = 0) {
        guard !block.isEmpty else { return }
        openedAt = openedAt ?? boot - min(max(0, age), limits.maxAge)
        let index =
            open.firstIndex { $0.stream == block.stream }
            ?? {
                open.append(SampleBlock(stream: block.stream))
                return open.count - 1
            }()
        let capacity = capacity(of: block.stream)
        for sample in 0..<block.count {
            // Times increase within a batch, even if a recording starts again. A wrong time in the future is alone in its
            // batch, because a collector refuses all of it.
            let fits = open[index].times.last.map {
                $0 < block.times[sample] && block.times[sample] - $0 <= Self.maxGap
            }
            if open[index].count >= capacity || fits == false {
                full.append(open[index])
                open[index] = SampleBlock(stream: block.stream)
            }
            open[index].append(
                time: Timestamp(microseconds: block.times[sample]), values: block.values(at: sample))
        }
        if open[index].count >= capacity {
            full.append(open[index])
            open[index] = SampleBlock(stream: block.stream)
        }
    }

    /// The time at which a batch will be ready, in µs of the boot clock: 0 if one is ready, nil if there are no
    /// samples.
    public var nextDeadline: Int64? { full.isEmpty ? openedAt.map { $0 + limits.window } : 0 }

    /// Removes and returns the batches that are ready: full batches, or all batches if the window is over.
    /// - Parameter boot: the current time in µs of the boot clock.
    public mutating func takeReady(at boot: Int64) -> [SampleBlock] {
        if let openedAt, boot >= openedAt + limits.window { return takeAll() }
        defer { full.removeAll() }
        // If nothing is left, the next sample opens a new window.
        if open.allSatisfy(\.isEmpty) { openedAt = nil }
        return full
    }

    /// Removes and returns all batches.
    public mutating func takeAll() -> [SampleBlock] {
        defer {
            full.removeAll()
            openedAt = nil
            for index in open.indices { open[index] = SampleBlock(stream: open[index].stream) }
        }
        return full + open.filter { !$0.isEmpty }
    }

    private func capacity(of stream: SensorStream) -> Int {
        let numbersPerSample = stream.columns.count + 1
        // A JSON number and its comma take about 10 bytes.
        let estimate = min(limits.samples, limits.bytes / (10 * numbersPerSample))
        guard let packetLimit else { return max(1, estimate) }
        // A JSON number and its comma take at most 25 bytes. Topic, keys and batch position take a few hundred bytes.
        return max(1, min(estimate, (packetLimit - 400) / (25 * numbersPerSample)))
    }
}
