public import LockstepModel

/// Collects samples until there is enough for a message: one batch a stream and window, or more when a stream has many.
public struct Coalescer: Sendable {
    public struct Limits: Sendable, Hashable {
        /// µs from the first sample that waits until all that wait are due. What its source took to hand it over is
        /// part of that, up to ``mostAge``: a sample that comes late opens a window of hardly less than this.
        public var window: Int64
        /// Samples after which a batch is due at once, and which it never exceeds.
        public var samples: Int
        /// Bytes of payload, estimated, with the same meaning.
        public var bytes: Int

        public init(window: Int64 = 1_000_000, samples: Int = 1000, bytes: Int = 65_536) {
            self.window = window
            self.samples = samples
            self.bytes = bytes
        }

        /// µs of a sample's age that count: a tenth of the window.
        var mostAge: Int64 { window / 10 }

        /// How long, in µs, sources do well to let samples gather: no longer than what counts as part of the window, so
        /// that nothing is sent later for it. 10,000 at the least, for the sake of the processor; 100,000 at the most,
        /// after which less is to be gained than a change of the rates has to wait.
        public var gathering: Int64 { min(max(mostAge, 10_000), 100_000) }
    }

    private let limits: Limits
    /// Bytes that the broker takes as one packet, where it has told: a batch then stays below it for certain.
    public var packetLimit: Int?
    /// In the order in which the streams first spoke.
    private var open: [SampleBlock] = []
    private var full: [SampleBlock] = []
    private var openedAt: Int64?

    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Takes samples in.
    /// - Parameters:
    ///   - boot: the present in µs of the boot clock.
    ///   - age: µs since the first of them was taken.
    public mutating func add(_ block: SampleBlock, at boot: Int64, age: Int64 = 0) {
        guard !block.isEmpty else { return }
        openedAt = openedAt ?? boot - min(max(0, age), limits.mostAge)
        let index =
            open.firstIndex { $0.stream == block.stream }
            ?? {
                open.append(SampleBlock(stream: block.stream))
                return open.count - 1
            }()
        let most = capacity(of: block.stream)
        for sample in 0..<block.count {
            // A recording that starts again goes back in time; a batch never does.
            if open[index].count >= most || open[index].times.last.map({ $0 >= block.times[sample] }) == true {
                full.append(open[index])
                open[index] = SampleBlock(stream: block.stream)
            }
            open[index].append(
                time: Timestamp(microseconds: block.times[sample]), values: block.values(at: sample))
        }
        if open[index].count >= most {
            full.append(open[index])
            open[index] = SampleBlock(stream: block.stream)
        }
    }

    /// When something will be due, in µs of the boot clock; 0 where something is due already.
    public var nextDue: Int64? { full.isEmpty ? openedAt.map { $0 + limits.window } : 0 }

    /// Takes out what is due: full batches, and when the window is over everything.
    public mutating func takeDue(at boot: Int64) -> [SampleBlock] {
        if let openedAt, boot >= openedAt + limits.window { return takeAll() }
        defer { full.removeAll() }
        // With nothing left the next sample opens a window of its own.
        if open.allSatisfy(\.isEmpty) { openedAt = nil }
        return full
    }

    /// Takes out everything.
    public mutating func takeAll() -> [SampleBlock] {
        defer {
            full.removeAll()
            openedAt = nil
            for index in open.indices { open[index] = SampleBlock(stream: open[index].stream) }
        }
        return full + open.filter { !$0.isEmpty }
    }

    private func capacity(of stream: SensorStream) -> Int {
        let numbers = stream.columns.count + 1
        // A number of JSON takes about ten bytes with its comma.
        let most = min(limits.samples, limits.bytes / (10 * numbers))
        guard let packetLimit else { return max(1, most) }
        // At its longest it takes 25; topic, names and numbers of the batch take some hundred.
        return max(1, min(most, (packetLimit - 400) / (25 * numbers)))
    }
}
