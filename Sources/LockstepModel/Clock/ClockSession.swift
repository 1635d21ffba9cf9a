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
