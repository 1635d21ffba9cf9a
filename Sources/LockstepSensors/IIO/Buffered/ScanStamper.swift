package import LockstepModel

/// Assigns times on the boot clock to the scans of a buffer: their own timestamps, or their arrival times.
package struct ScanStamper: Sendable {
    /// The clock of the scans' own timestamps.
    package enum Clock: Sendable, Hashable {
        case boot
        /// The monotonic clock, which stops during suspend.
        case awake
        /// No reliable clock, with the reason: scans are stamped on arrival.
        case arrival(String)

        /// Creates the clock from its name in the kernel's attribute `current_timestamp_clock`.
        package init(named name: String) {
            switch name {
            case "boottime": self = .boot
            case "monotonic", "monotonic_coarse": self = .awake
            default: self = .arrival("stamped on arrival, because the clock '\(name)' can be stepped")
            }
        }
    }

    /// The result for one scan.
    package enum Stamp: Sendable, Hashable {
        /// The time in µs of the boot clock.
        case time(Int64)
        /// The scan is dropped, because its time is not later than that of the previous one.
        case dropped
    }

    /// The number of consecutive implausible timestamps after which the sensor's clock is no longer used.
    ///
    /// If the first scans arrive together, two are enough, for this number and the next one: no timestamp of the sensor has
    /// been used yet, and waiting for more would drop scans that can be stamped on arrival.
    package static let maxConsecutiveImplausible = 10
    /// The number of consecutive scans without timestamp, or with the same one, after which the source is assumed to
    /// provide none.
    package static let maxConsecutiveUntimed = 3
    /// How far, in µs, a scan may lie before the time at which its buffer was enabled, empty: a tolerance for reading
    /// two clocks. There is no other lower bound, because scans wait while the machine is suspended.
    static let maxBeforeStart: Int64 = 1_000_000
    /// The maximum time by which a scan may be in the future, in µs: a tolerance for reading two clocks.
    static let maxAhead: Int64 = 1_000_000

    package private(set) var clock: Clock
    /// The time at which the buffer was enabled, in µs of the boot clock.
    private let startedAt: Int64
    /// The longest interval between scans that are stamped on arrival, in µs.
    private let maxStep: Int64
    private var last: Int64?
    private var implausible = 0
    /// The number of consecutive scans with the timestamp of the last one that was accepted.
    private var repeated = 0
    /// The number of consecutive scans without timestamp.
    private var untimed = 0
    /// The time of the last read on the monotonic clock, and the boot clock minus the monotonic clock at that time, in
    /// µs.
    private var lastRead: (awake: Int64, ahead: Int64)?

    /// - Parameters:
    ///   - startedAt: The time at which the buffer was enabled, in µs of the boot clock.
    ///   - rate: The expected rate of scans in 1/s; nil if unknown.
    package init(clock: Clock, startedAt: Int64, rate: Double? = nil) {
        self.clock = clock
        // Twice the nominal interval: a sensor may be slower than stated, but scans after a pause must not be spread
        // over the pause.
        maxStep = rate.map { Int64(2e6 / max($0, 1e-3)) } ?? .max
        self.startedAt = startedAt
    }

    /// Whether no scan has arrived yet.
    package var isUnused: Bool { last == nil }

    /// The reason why scans are stamped on arrival; nil if they are not.
    package var note: String? {
        if case .arrival(let reason) = clock { return reason }
        return nil
    }

    /// Returns the times of scans that arrived together.
    /// - Parameters:
    ///   - own: The timestamps of the scans in ns of ``clock``; nil if they have none.
    ///   - now: The time of arrival.
    package mutating func stamp(own: [Int64]?, count: Int, at now: Moment) -> [Stamp] {
        guard let own, note == nil else { return stampArrivals(count, at: now.boot) }
        let read = lastRead
        lastRead = (now.awake, now.boot - now.awake)
        if own.allSatisfy({ $0 <= 0 }) {
            countUntimed(own.count)
            return stampArrivals(count, at: now.boot)
        }
        if let fault = faultOfClock(own, at: now, after: read) {
            clock = .arrival("stamped on arrival, because the sensor's timestamps \(fault)")
            return stampArrivals(own.count, at: now.boot)
        }
        var stamps: [Stamp] = []
        for nanoseconds in own {
            if note != nil { break }
            if nanoseconds > 0 {
                untimed = 0
                stamps.append(stamp(onBootClock(nanoseconds / 1000, at: now, after: read), at: now.boot))
            } else {
                // Its arrival time would be later than the timestamps of the scans that follow.
                countUntimed(1)
                stamps.append(.dropped)
            }
        }
        return stamps + stampArrivals(count - stamps.count, at: now.boot)
    }

    /// Returns the fault if at least two scans arrive first and either none has a plausible time or all have the same time.
    ///
    /// HID sensor hubs state the time of their own clock, and some drivers repeat their first timestamp. No scan needs to be
    /// dropped to find out.
    private func faultOfClock(
        _ own: [Int64], at now: Moment, after read: (awake: Int64, ahead: Int64)?
    ) -> String? {
        guard last == nil, implausible == 0, own.count >= 2 else { return nil }
        let times = own.map { onBootClock($0 / 1000, at: now, after: read) }
        if times.allSatisfy({ !isPlausible($0, at: now.boot) }) { return offset(of: times[0], from: now.boot) }
        return own.allSatisfy { $0 == own[0] } ? Self.notAdvancing : nil
    }

    /// Returns whether a scan can have been taken at `time`, in µs of the boot clock.
    private func isPlausible(_ time: Int64, at now: Int64) -> Bool {
        time > startedAt - Self.maxBeforeStart && time < now + Self.maxAhead
    }

    private func offset(of time: Int64, from now: Int64) -> String { "are \(abs(now - time) / 1_000_000) s off" }

    /// The fault of timestamps that do not advance, as those of the driver `hid-sensor-press` in Linux 6.1.
    private static let notAdvancing = "do not advance"

    /// Counts scans without timestamp, and changes to arrival times if there are too many. Software triggers never set
    /// a timestamp; a driver may also miss a single one.
    private mutating func countUntimed(_ count: Int) {
        untimed += count
        guard untimed >= Self.maxConsecutiveUntimed else { return }
        clock = .arrival("stamped on arrival, because the trigger provides no timestamps")
    }

    /// Converts a scan's own time, in µs, to the boot clock.
    private func onBootClock(_ own: Int64, at now: Moment, after read: (awake: Int64, ahead: Int64)?) -> Int64 {
        guard clock == .awake else { return own }
        // A scan from before the last read precedes any suspend since that read.
        if let read, own <= read.awake { return own + read.ahead }
        return own + now.boot - now.awake
    }

    /// Stamps one scan with its own time if it is plausible, in µs of the boot clock.
    private mutating func stamp(_ time: Int64, at now: Int64) -> Stamp {
        let isPlausible = self.isPlausible(time, at: now)
        if isPlausible, time > last ?? .min {
            implausible = 0
            repeated = 0
            last = time
            return .time(time)
        }
        implausible += 1
        repeated = time == last ? repeated + 1 : 0
        if repeated >= Self.maxConsecutiveUntimed {
            clock = .arrival("stamped on arrival, because the sensor's timestamps \(Self.notAdvancing)")
        } else if implausible >= Self.maxConsecutiveImplausible {
            let fault = isPlausible ? "go backward" : offset(of: time, from: now)
            clock = .arrival("stamped on arrival, because the sensor's timestamps \(fault)")
        }
        return .dropped
    }

    /// Spreads scans evenly over the time since the last scan, at intervals of at most ``maxStep``.
    private mutating func stampArrivals(_ count: Int, at now: Int64) -> [Stamp] {
        guard count > 0 else { return [] }
        let last = last ?? startedAt
        let span = max(now - last, Int64(count))
        let taken = max(Int64(count), span / Int64(count) > maxStep ? maxStep * Int64(count) : span)
        let end = last + span
        self.last = end
        return (1...count).map { .time(end - taken + taken * Int64($0) / Int64(count)) }
    }
}
