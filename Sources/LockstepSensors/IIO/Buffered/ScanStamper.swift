package import LockstepModel

/// Gives the scans of a buffer their times: their own, on the boot clock, or those of their arrival.
package struct ScanStamper: Sendable {
    /// What a scan's own timestamps count from.
    package enum Clock: Sendable, Hashable {
        case boot
        /// The monotonic clock, which stands during suspend.
        case awake
        /// Nothing that can be relied on, and why: scans are stamped when they arrive.
        case arrival(String)

        /// The clock that the kernel calls `name` in `current_timestamp_clock`.
        package init(named name: String) {
            switch name {
            case "boottime": self = .boot
            case "monotonic", "monotonic_coarse": self = .awake
            default: self = .arrival("stamped on arrival, because its clock '\(name)' can be stepped")
            }
        }
    }

    /// What became of a scan.
    package enum Stamp: Sendable, Hashable {
        /// Its time, in µs of the boot clock.
        case time(Int64)
        /// Dropped, because it would not be later than the one before.
        case dropped
    }

    /// So many implausible times in a row, and a sensor's clock is not used any more.
    package static let maxConsecutiveImplausible = 10
    /// So many scans without a time in a row, and no more times are expected.
    package static let maxConsecutiveUntimed = 3
    /// A scan can't be older than its buffer, which is emptied when it is switched on, but clocks are read one after the
    /// other. µs. There is no other bound: during a suspend or a stop scans wait for as long as it lasts.
    static let maxBeforeStart: Int64 = 1_000_000
    /// A scan can't be of the future, but clocks are read one after the other. µs.
    static let maxAhead: Int64 = 1_000_000

    package private(set) var clock: Clock
    private let began: Int64
    /// µs between scans stamped on arrival, at the most.
    private let maxStep: Int64
    private var last: Int64?
    private var implausible = 0
    /// Scans in a row without a time.
    private var untimed = 0
    /// When scans were last read, on a clock that stands during suspend, and how far the boot clock was ahead of it.
    private var lastRead: (awake: Int64, ahead: Int64)?

    /// - Parameters:
    ///   - began: when the buffer began to fill, in µs of the boot clock.
    ///   - rate: samples a second that are expected; nil where nobody knows.
    package init(clock: Clock, began: Int64, rate: Double? = nil) {
        self.clock = clock
        // A sensor may be slower than it says, but after a pause its scans are not spread over the pause.
        maxStep = rate.map { Int64(2e6 / max($0, 1e-3)) } ?? .max
        self.began = began
    }

    /// Whether no scan has come yet.
    package var isUnused: Bool { last == nil }

    /// Why scans don't have their own times; nil where they do.
    package var note: String? {
        if case .arrival(let reason) = clock { return reason }
        return nil
    }

    /// The times of scans that have arrived together.
    /// - Parameters:
    ///   - own: their own timestamps in ns; nil where they have none.
    ///   - count: how many they are.
    ///   - now: when they arrived.
    package mutating func stamp(own: [Int64]?, count: Int, at now: Moment) -> [Stamp] {
        guard let own, note == nil else { return stampArrivals(count, at: now.boot) }
        let read = lastRead
        lastRead = (now.awake, now.boot - now.awake)
        if own.allSatisfy({ $0 <= 0 }) {
            countUntimed(own.count)
            return stampArrivals(count, at: now.boot)
        }
        var stamps: [Stamp] = []
        for nanoseconds in own {
            if note != nil { break }
            if nanoseconds > 0 {
                untimed = 0
                stamps.append(stamp(onBootClock(nanoseconds / 1000, at: now, after: read), at: now.boot))
            } else {
                // A time of its arrival would be later than those of the scans that came after it.
                countUntimed(1)
                stamps.append(.dropped)
            }
        }
        return stamps + stampArrivals(count - stamps.count, at: now.boot)
    }

    /// Triggers that are fired by software leave the time at 0, but a driver may also fail to tell one time.
    private mutating func countUntimed(_ count: Int) {
        untimed += count
        guard untimed >= Self.maxConsecutiveUntimed else { return }
        clock = .arrival("stamped on arrival, because its trigger tells no times")
    }

    /// A scan's own time, in µs, on the boot clock.
    private func onBootClock(_ own: Int64, at now: Moment, after read: (awake: Int64, ahead: Int64)?) -> Int64 {
        guard clock == .awake else { return own }
        // What is not later than the last read was measured before a suspend since then.
        if let read, own <= read.awake { return own + read.ahead }
        return own + now.boot - now.awake
    }

    /// One scan by its own time, in µs of the boot clock.
    private mutating func stamp(_ time: Int64, at now: Int64) -> Stamp {
        let isPlausible = time > began - Self.maxBeforeStart && time < now + Self.maxAhead
        if isPlausible, time > last ?? .min {
            implausible = 0
            last = time
            return .time(time)
        }
        implausible += 1
        if implausible >= Self.maxConsecutiveImplausible {
            let fault = isPlausible ? "go backward" : "are \(abs(now - time) / 1_000_000) s off"
            clock = .arrival("stamped on arrival, because its own times \(fault)")
        }
        return .dropped
    }

    /// Spreads scans evenly over the time since the last, or over so much of it as they can have taken.
    private mutating func stampArrivals(_ count: Int, at now: Int64) -> [Stamp] {
        guard count > 0 else { return [] }
        let last = last ?? began
        let span = max(now - last, Int64(count))
        let taken = max(Int64(count), span / Int64(count) > maxStep ? maxStep * Int64(count) : span)
        let end = last + span
        self.last = end
        return (1...count).map { .time(end - taken + taken * Int64($0) / Int64(count)) }
    }
}
