import LockstepModel

/// The order in which recent batches of all streams arrived, to remove the oldest ones.
///
/// The batches are in ``LiveStream/recent``. Both are queues, so the oldest entry here is the oldest batch of its stream.
struct RecentSamples: Sendable {
    private struct Entry {
        let key: StreamKey
        let bytes: Int
        /// The arrival time, in µs of the boot clock.
        let at: Int64
    }

    private let maxBytes: Int
    private let maxAge: Int64
    private var entries = RingQueue<Entry>()
    /// The memory of all batches, in bytes.
    private(set) var bytes = 0

    init(maxBytes: Int, maxAge: Int64) {
        self.maxBytes = maxBytes
        self.maxAge = maxAge
    }

    /// Adds the newest batch.
    mutating func add(_ samples: SampleBlock, of key: StreamKey, at boot: Int64) {
        let size = Self.memory(of: samples)
        entries.append(Entry(key: key, bytes: size, at: boot))
        bytes += size
    }

    /// Removes and returns the stream of the oldest batch, if it is too old or there are too many bytes.
    mutating func removeExcess(at boot: Int64) -> StreamKey? {
        guard let oldest = entries.first, bytes > maxBytes || boot - oldest.at > maxAge else { return nil }
        _ = entries.removeFirst()
        bytes -= oldest.bytes
        return oldest.key
    }

    /// Returns the approximate memory of a batch with its entries in both queues, in bytes.
    static func memory(of samples: SampleBlock) -> Int {
        // Arrays have a header of 32 bytes; a block contains the description of its stream.
        320 + samples.columns.count * 32 + samples.count * 8 * (samples.columns.count + 1)
    }
}

/// The arrivals of samples in the last seconds, from which rates are computed.
struct RecentArrivals: Sendable {
    /// The samples that arrived at one time, in µs of the boot clock.
    private struct Arrival {
        let at: Int64
        var count: Int
        /// The times of the oldest and the newest sample, in µs.
        var times: ClosedRange<Int64>
    }

    /// Arrivals within this time are counted as one, which bounds the number of entries. In µs.
    private static let resolution: Int64 = 50_000

    private var arrivals: [Arrival] = []

    var count: Int { arrivals.count }

    /// Adds an arrival of samples, and removes those that are older than `window` µs.
    /// - Parameter sampleTimes: the times of the samples in µs, ascending.
    mutating func add(_ sampleTimes: [Int64], at boot: Int64, window: Int64) {
        guard let first = sampleTimes.first, let newest = sampleTimes.last, first <= newest else { return }
        let count = sampleTimes.count
        if let last = arrivals.last, boot - last.at < Self.resolution {
            arrivals[arrivals.count - 1].count += count
            arrivals[arrivals.count - 1].times =
                min(last.times.lowerBound, first)...max(last.times.upperBound, newest)
            return
        }
        let expired = arrivals.firstIndex { boot - $0.at < window } ?? arrivals.count
        if expired > 0 { arrivals.removeFirst(expired) }
        arrivals.append(Arrival(at: boot, count: count, times: first...newest))
    }

    mutating func reset() { arrivals = [] }

    /// Returns the number of samples of the last `window` µs divided by its whole seconds, in samples per second.
    ///
    /// Batches arrive once per second, so the time since the first arrival is rounded up to whole seconds: the rate is
    /// then correct from the first batch.
    /// - Parameter start: the first arrival of the device, in µs of the boot clock; nil if there is none.
    func average(since start: Int64?, at boot: Int64, window: Int64) -> Double {
        let count = arrivals.reduce(0) { boot - $1.at < window ? $0 + $1.count : $0 }
        let seconds = (boot - (start ?? boot)) / 1_000_000 + 1
        return Double(count) / Double(min(seconds, window / 1_000_000))
    }

    /// Returns the rate of the samples that arrived in the last `window` µs, in samples per second.
    ///
    /// It is computed from the times of the samples: unlike ``average(since:at:window:)``, it depends neither on when
    /// batches arrive nor on how many of them the window happens to contain. Once the samples have stopped, it falls back
    /// to the average, which decreases to 0.
    func rate(since start: Int64?, at boot: Int64, window: Int64) -> Double {
        let recent = arrivals.drop { boot - $0.at >= window }
        guard let first = recent.first, let last = recent.last else { return 0 }
        let arrivalSpan = last.at - first.at
        // A newer sample can be in an earlier batch, and any client may send any times.
        let (span, overflows) = last.times.upperBound.subtractingReportingOverflow(first.times.lowerBound)
        let count = recent.reduce(0) { $0 + $1.count }
        guard !overflows, span > 0, count >= 2 else { return average(since: start, at: boot, window: window) }
        let interval = recent.count > 1 ? arrivalSpan / Int64(recent.count - 1) : min(span, window)
        guard boot - last.at <= 2 * interval + 1_000_000 else { return average(since: start, at: boot, window: window) }
        // A recording can be played at another speed than its own.
        if recent.count >= 3 {
            let arrivalRate = Double(count - first.count) * 1e6 / Double(arrivalSpan)
            let sampleRate = Double(count - 1) * 1e6 / Double(span)
            return (0.5...2).contains(sampleRate / arrivalRate) ? sampleRate : arrivalRate
        }
        return Double(count - 1) * 1e6 / Double(span)
    }
}

/// A queue in one array that is reused from the start when its end is reached.
struct RingQueue<Element: Sendable>: Sendable {
    private var slots: [Element?] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    /// The oldest element.
    var first: Element? { isEmpty ? nil : slots[head] }

    /// Returns the element at `index`, counted from the oldest.
    subscript(index: Int) -> Element {
        precondition(index >= 0 && index < count)
        guard let element = slots[(head + index) % slots.count] else { preconditionFailure("a used slot is empty") }
        return element
    }

    /// Adds an element as the newest.
    mutating func append(_ element: Element) {
        if count == slots.count { resize(to: max(4, 2 * count)) }
        slots[(head + count) % slots.count] = element
        count += 1
    }

    /// Adds an element as the oldest.
    mutating func prepend(_ element: Element) {
        if count == slots.count { resize(to: max(4, 2 * count)) }
        head = (head + slots.count - 1) % slots.count
        slots[head] = element
        count += 1
    }

    /// Removes and returns the oldest element.
    mutating func removeFirst() -> Element? {
        guard !isEmpty else { return nil }
        let element = slots[head]
        slots[head] = nil
        head = (head + 1) % slots.count
        count -= 1
        // Return memory after a burst.
        if slots.count > 16, count < slots.count / 4 { resize(to: slots.count / 2) }
        return element
    }

    private mutating func resize(to size: Int) {
        var resized: [Element?] = []
        resized.reserveCapacity(size)
        for index in 0..<count { resized.append(self[index]) }
        resized += Array(repeating: nil, count: size - count)
        slots = resized
        head = 0
    }
}
