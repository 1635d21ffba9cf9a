/// The device's side of the time exchange: when to ask, and what follows from the answers. It reads no clock.
///
/// Call ``observe(_:lineOffset:discipline:)`` in each turn, send the requests of ``nextPing(at:)``, and pass the answers
/// to ``receive(_:at:lineOffset:)``. The new estimates are in ``takePoints()``.
public struct ClockSession: Sendable {
    /// The maximum number of collectors that are compared. Others are ignored.
    static let maxCollectors = 4
    /// The longest time to wait for the answers to a wave, in µs.
    static let answerTimeout: Int64 = 1_000_000
    /// The shortest suspend after which the exchange starts again, in µs: the clock that measures a suspend is coarse.
    static let minSuspend: Int64 = 2_000

    private struct Wave {
        var started: Int64
        var nextPing: Int64
        var unsent: Int
        /// The number of requests that the only collector has not answered yet.
        var unanswered: Int
        var end: Int64?
    }

    private var schedule = WaveSchedule()
    private var wave: Wave?
    private var tracks: [ReferenceTrack] = []
    /// The times at which the requests were sent, by number.
    private var sent: [Int64: Int64] = [:]
    private var lastNumber: Int64 = 0
    /// The total duration of all suspends, in µs.
    private var suspended: Int64?
    private var lineOffset: Int64?
    private var discipline: KernelDiscipline?
    private var points: [ClockPoint] = []

    /// Creates a session without a connection.
    public init() {}

    /// The newest estimate for each collector.
    public var newest: [ClockPoint] { tracks.compactMap(\.lastPoint) }

    /// Starts to ask, `delay` µs after `reading`. Different delays spread the requests of many devices.
    public mutating func didConnect(at reading: ClockReading, delay: Int64 = 0) {
        schedule.start(at: reading.boot, delay: delay)
        wave = nil
        sent = [:]
    }

    /// Stops until the next connect.
    public mutating func didDisconnect() {
        schedule.stop()
        wave = nil
        sent = [:]
    }

    /// The time of the next action, in µs of the boot clock, or nil if there is none.
    public var nextDeadline: Int64? {
        guard let wave else { return schedule.next }
        return wave.unsent > 0 ? wave.nextPing : wave.end
    }

    /// Follows the clocks of the device, and ends a wave.
    /// - Parameters:
    ///   - lineOffset: the device's time line minus `CLOCK_BOOTTIME`, in µs.
    ///   - discipline: the state of the wall clock.
    public mutating func observe(_ reading: ClockReading, lineOffset: Int64, discipline: KernelDiscipline?) {
        self.discipline = discipline
        let total = reading.boot - reading.awake
        if let suspended, abs(total - suspended) > Self.minSuspend {
            for index in tracks.indices { tracks[index].restart() }
            sent = [:]
            self.suspended = total
        }
        if suspended == nil { suspended = total }
        if let previous = self.lineOffset, abs(lineOffset - previous) > Int64(ReferenceTrack.stepThreshold) {
            for index in tracks.indices { tracks[index].startSegment() }
        }
        self.lineOffset = lineOffset
        if let wave, wave.unsent == 0, wave.unanswered <= 0 || reading.boot >= wave.end ?? .max {
            var isAnswered = false
            for index in tracks.indices {
                if let point = tracks[index].finishWave() {
                    append(point)
                    isAnswered = true
                }
            }
            self.wave = nil
            sent = [:]
            schedule.didFinishWave(startedAt: wave.started, isAnswered: isAnswered)
        } else if wave == nil {
            let local = local(reading, lineOffset)
            for index in tracks.indices {
                if let point = tracks[index].follow(local) { append(point) }
            }
        }
    }

    /// Returns a request to send now, or nil if none is due. Take `reading` right before the request is sent.
    public mutating func nextPing(at reading: ClockReading) -> ClockPing? {
        if wave == nil, let next = schedule.next, reading.boot >= next {
            wave = Wave(
                started: reading.boot, nextPing: reading.boot, unsent: schedule.probes, unanswered: schedule.probes)
        }
        guard var wave, wave.unsent > 0, reading.boot >= wave.nextPing else { return nil }
        wave.unsent -= 1
        wave.nextPing = reading.boot + schedule.gap
        if wave.unsent == 0 { wave.end = reading.boot + Self.answerTimeout }
        self.wave = wave
        lastNumber += 1
        sent[lastNumber] = oscillator(reading)
        return ClockPing(number: lastNumber)
    }

    /// Handles an answer.
    /// - Parameter lineOffset: the device's time line minus `CLOCK_BOOTTIME`, in µs.
    public mutating func receive(_ pong: ClockPong, at reading: ClockReading, lineOffset: Int64) {
        guard let sent = sent[pong.number] else { return }
        let index: Int
        if let known = tracks.firstIndex(where: { $0.collector == pong.collector }) {
            index = known
        } else {
            // A collector that does not answer any more makes room.
            if tracks.count >= Self.maxCollectors, let silent = tracks.firstIndex(where: { !$0.isAnswered }) {
                tracks.remove(at: silent)
            }
            guard tracks.count < Self.maxCollectors else { return }
            index = tracks.count
            tracks.append(ReferenceTrack(pong.collector))
        }
        tracks[index].receive(pong, sentAt: sent, at: local(reading, lineOffset))
        // With several collectors, the wave ends by the timeout, so that all of them can answer.
        if tracks.count == 1 { wave?.unanswered -= 1 }
    }

    /// Returns the estimates since the last call, and forgets them.
    public mutating func takePoints() -> [ClockPoint] {
        defer { points = [] }
        return points
    }

    /// Whether there are new estimates.
    public var hasPoints: Bool { !points.isEmpty }

    private mutating func append(_ point: ClockPoint) {
        // Without a reader, only the newest estimates are kept.
        if points.count == ClockReport.maxPoints { points.removeFirst() }
        points.append(point)
    }

    /// The device's oscillator, which also counts suspends.
    private func oscillator(_ reading: ClockReading) -> Int64 { reading.raw + (suspended ?? 0) }

    private func local(_ reading: ClockReading, _ lineOffset: Int64) -> ReferenceTrack.Local {
        let raw = oscillator(reading)
        let line = reading.boot + lineOffset
        return ReferenceTrack.Local(
            raw: raw, shift: line - raw, lead: line - reading.wall, spread: reading.spread, discipline: discipline)
    }
}

/// The times at which an agent sends waves of requests, in µs of the boot clock.
///
/// Waves are frequent after a connect, so that the estimate converges within seconds, and rare afterwards. While no
/// collector answers, a wave is one request at growing intervals.
struct WaveSchedule: Sendable {
    /// The intervals between the first waves, in µs.
    private static let firstIntervals: [Int64] = [700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 5_000_000]
    /// The interval between later waves, during the first minutes and afterwards.
    static let interval: Int64 = 30_000_000
    private static let earlyInterval: Int64 = 10_000_000
    private static let earlyWaves = 14
    /// The longest interval while nobody answers.
    private static let maxSilentInterval: Int64 = 60_000_000

    /// The time of the next wave, or nil without a connection.
    private(set) var next: Int64?
    /// The number of waves since the connect that were answered.
    private var answeredWaves = 0
    /// The number of consecutive waves that nobody answered.
    private var silentWaves = 0

    mutating func start(at boot: Int64, delay: Int64) {
        self = WaveSchedule()
        next = boot + delay
    }

    mutating func stop() { next = nil }

    /// The number of requests in the next wave.
    var probes: Int {
        if silentWaves > 1 { return 1 }
        return answeredWaves < Self.firstIntervals.count ? 8 : 4
    }

    /// The time between two requests of a wave, in µs.
    var gap: Int64 { answeredWaves < Self.firstIntervals.count ? 25_000 : 60_000 }

    /// Schedules the wave after one that began at `start`.
    mutating func didFinishWave(startedAt start: Int64, isAnswered: Bool) {
        guard next != nil else { return }
        if isAnswered {
            silentWaves = 0
            let interval =
                answeredWaves < Self.firstIntervals.count
                ? Self.firstIntervals[answeredWaves]
                : answeredWaves < Self.earlyWaves ? Self.earlyInterval : Self.interval
            answeredWaves += 1
            next = start + interval
        } else {
            silentWaves += 1
            next = start + min(Self.maxSilentInterval, 1_000_000 << Int64(min(silentWaves, 6)))
        }
    }
}

/// A request of an agent for the collectors' time.
public struct ClockPing: Hashable, Sendable {
    /// The number of the request, chosen by the agent. The answer repeats it.
    public var number: Int64

    /// Creates a request.
    public init(number: Int64) { self.number = number }
}

/// A collector's answer to a ``ClockPing``.
public struct ClockPong: Hashable, Sendable {
    /// The number of the request.
    public var number: Int64
    /// The id of the collector.
    public var collector: CollectorID
    /// An identifier of the boot of the collector's machine, within which `received` and `sent` are comparable.
    public var boot: String
    /// The time at which the request was received, in µs of `CLOCK_MONOTONIC_RAW`, which nothing adjusts.
    public var received: Int64
    /// The time at which the answer was sent, in µs of the same clock.
    public var sent: Int64
    /// The collector's wall-clock time minus that clock, in µs.
    public var shift: Int64
    /// The largest error of the collector's wall clock in µs, as its daemon states it, or nil if it is not disciplined.
    public var maxError: Int64?

    /// Creates an answer.
    public init(
        number: Int64, collector: CollectorID, boot: String, received: Int64, sent: Int64, shift: Int64,
        maxError: Int64? = nil
    ) {
        self.number = number
        self.collector = collector
        self.boot = boot
        self.received = received
        self.sent = sent
        self.shift = shift
        self.maxError = maxError
    }
}

/// The four times of one exchange, in µs: two of the device's clock and two of the collector's.
public struct ClockProbe: Hashable, Sendable {
    /// The time at which the device sent the request (t1), on the device's clock.
    public var sent: Int64
    /// The time at which the collector received it (t2), on the collector's clock.
    public var received: Int64
    /// The time at which the collector sent the answer (t3), on the collector's clock.
    public var answered: Int64
    /// The time at which the device received it (t4), on the device's clock.
    public var returned: Int64

    /// Creates a probe.
    public init(sent: Int64, received: Int64, answered: Int64, returned: Int64) {
        self.sent = sent
        self.received = received
        self.answered = answered
        self.returned = returned
    }

    /// The time that both messages took together, in µs.
    public var roundTrip: Int64 { (returned - sent) - (answered - received) }

    /// The device's clock minus the collector's in µs, if both messages took equally long.
    public var offset: Double { Double((sent - received) + (returned - answered)) / 2 }

    /// The lowest possible offset when the request was sent, because it was not received before. One µs covers the
    /// rounding of both times.
    public var lower: Int64 { sent - received - 1 }
    /// The highest possible offset when the answer was received, because it was not sent later.
    public var upper: Int64 { returned - answered + 1 }

    /// Whether the times can be those of an exchange. Others come from a foreign or faulty sender.
    public var isPlausible: Bool { answered >= received && returned >= sent && roundTrip >= -1 }
}
