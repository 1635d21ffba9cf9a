/// What a device knows of the clock of one collector.
///
/// The oscillators of both machines are compared with ``ClockFilter``. A point adds what both machines do to their
/// oscillators: the device's time line minus its oscillator, and the collector's wall clock minus its own (*shifts*). So
/// steps and slews of either wall clock do not disturb the estimate.
struct ReferenceTrack: Sendable {
    /// The device's shift at one time.
    struct Local: Sendable {
        /// The time of the device's oscillator, in µs.
        var raw: Int64
        /// The device's time line minus the oscillator, in µs.
        var shift: Int64
        /// The device's time line minus its wall clock, in µs.
        var lead: Int64
        /// The largest error of the readings, in µs.
        var spread: Int64
        /// The state of the device's wall clock.
        var discipline: KernelDiscipline?

        var time: Timestamp { Timestamp(microseconds: raw + shift) }
    }

    /// The shifts of both machines at one time.
    private struct Shifts {
        var raw: Int64
        var local: Int64
        var remote: Int64
    }

    /// The error of a shift that the collector reports, in µs.
    private static let remoteSpread = 4.0
    /// The smallest change of a shift against the extrapolated one that is a step, in µs.
    static let stepThreshold = 20_000.0

    let collector: CollectorID
    private var filter = ClockFilter()
    private var boot: String?
    private var wave: [ClockProbe] = []
    /// The device's state at the newest answer, and that answer.
    private var newest: (local: Local, pong: ClockPong)?
    /// The start of the current segment, or nil if the next point starts one.
    private var segment: Timestamp?
    /// The shifts at the first answer of the segment or at the last point.
    private var reference: Shifts?
    /// The rates of the device's and the collector's shift, in ppm, or nil if they were not measured yet.
    private var rates: (local: Double, remote: Double)?
    private(set) var lastPoint: ClockPoint?

    init(_ collector: CollectorID) { self.collector = collector }

    /// Whether the current wave has answers of this collector.
    var isAnswered: Bool { !wave.isEmpty }

    mutating func receive(_ pong: ClockPong, sentAt sent: Int64, at local: Local) {
        let probe = ClockProbe(sent: sent, received: pong.received, answered: pong.sent, returned: local.raw)
        guard probe.isPlausible else { return }
        if boot != pong.boot {
            restart()
            boot = pong.boot
        }
        if let newest, abs(Double(pong.shift - newest.pong.shift)) > Self.stepThreshold {
            // The collector's wall clock was set. The oscillators are not affected.
            startSegment()
        }
        wave.append(probe)
        newest = (local, pong)
        if reference == nil { reference = Shifts(raw: local.raw, local: local.shift, remote: pong.shift) }
    }

    /// - Returns: a new point, or nil if the collector did not answer.
    mutating func finishWave() -> ClockPoint? {
        guard let newest, !wave.isEmpty else { return nil }
        if !filter.add(wave) { startSegment() }
        wave = []
        return makePoint(at: newest.local, remoteShift: Double(newest.pong.shift), newest.pong)
    }

    /// Returns a point if the device's time line has left its extrapolation, for example because its wall clock is slewed.
    mutating func follow(_ local: Local) -> ClockPoint? {
        guard lastPoint != nil, segment != nil, let reference, let rates, let newest else { return nil }
        let seconds = Double(local.raw - reference.raw) / 1e6
        guard seconds >= 0.5, abs(Double(local.shift - reference.local) - rates.local * seconds) > 100 else {
            return nil
        }
        let remote = Double(newest.pong.shift) + rates.remote * Double(local.raw - newest.local.raw) / 1e6
        return makePoint(at: local, remoteShift: remote, newest.pong)
    }

    /// Starts a new segment, because one of the wall clocks was stepped.
    mutating func startSegment() {
        segment = nil
        reference = nil
        rates = nil
        lastPoint = nil
    }

    /// Discards all knowledge, because one of the oscillators was interrupted.
    mutating func restart() {
        filter = ClockFilter()
        wave = []
        newest = nil
        startSegment()
    }

    private mutating func makePoint(at local: Local, remoteShift: Double, _ pong: ClockPong) -> ClockPoint? {
        guard let estimate = filter.estimate(at: local.raw) else { return nil }
        var offset = estimate.offset + Double(local.shift) - remoteShift
        var bound = estimate.bound + Double(local.spread) + Self.remoteSpread
        var skew = estimate.skew
        var skewBound = estimate.skewBound
        if let reference, local.raw > reference.raw {
            let seconds = Double(local.raw - reference.raw) / 1e6
            let measured = (
                local: Double(local.shift - reference.local) / seconds,
                remote: (remoteShift - Double(reference.remote)) / seconds
            )
            if let rates {
                // Between the two points, the shifts have left their previous course by this much at most.
                bound += abs((measured.local - measured.remote) - (rates.local - rates.remote)) * seconds
            }
            skewBound += 4 / seconds
            if let rates {
                skewBound += abs(measured.local - rates.local) + abs(measured.remote - rates.remote)
            }
            // A shorter interval would show the rounding of the readings rather than a rate.
            if seconds >= 0.5 {
                rates = measured
            } else {
                skewBound += 500
            }
        }
        if let rates { skew += rates.local - rates.remote }
        narrow(&offset, &bound, by: local, pong)
        reference = Shifts(raw: local.raw, local: local.shift, remote: Int64(remoteShift.rounded()))
        let point = ClockPoint(
            collector: collector, time: local.time, segment: segment ?? local.time, offset: Int64(offset.rounded()),
            skew: Int64((skew * 1000).rounded()), bound: Int64(bound.rounded(.up)) + 1,
            skewBound: Int64((skewBound * 1000).rounded(.up)))
        segment = point.segment
        lastPoint = point
        return point
    }

    /// Uses the errors that the daemons of both machines state, if both clocks are disciplined and the statement is
    /// narrower than the exchange. A statement that contradicts the exchange is ignored.
    private func narrow(_ offset: inout Double, _ bound: inout Double, by local: Local, _ pong: ClockPong) {
        guard let discipline = local.discipline, discipline.isSynchronised, let maxError = pong.maxError else { return }
        let stated = Double(discipline.maxError + maxError + local.spread) + Self.remoteSpread
        let low = max(offset - bound, Double(local.lead) - stated)
        let high = min(offset + bound, Double(local.lead) + stated)
        guard low <= high, high - low < 2 * bound else { return }
        (offset, bound) = ((low + high) / 2, (high - low) / 2)
    }
}
