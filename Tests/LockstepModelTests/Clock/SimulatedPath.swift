import LockstepModel

/// A device, a collector and the network between them, with known clocks. Times without a name are in µs of true time.
struct SimulatedPath {
    /// The frequency error of the device's oscillator, in ppm.
    var drift = 0.0
    /// The frequency error of the collector's oscillator, in ppm.
    var collectorDrift = 0.0
    /// The amplitude of the device's frequency change with temperature, in ppm, and its period in seconds.
    var wander = (amplitude: 0.0, period: 3600.0)
    /// The device's wall clock minus true time.
    var deviceWall: Int64 = 1_700_000_000_000_000
    /// The collector's wall clock minus true time.
    var collectorWall: Int64 = 1_700_000_000_000_000
    /// The least delay of a request and of an answer.
    var delay = (request: 200.0, answer: 200.0)
    /// The mean of the exponentially distributed additional delay of each message.
    var jitter = 50.0
    /// The part of messages that are lost.
    var loss = 0.0
    var boot = "b007b007"
    var collector = CollectorID(unchecked: "main")
    var generator: Random
    /// The time by which the device was suspended.
    var suspended: Int64 = 0

    init(seed: UInt64) { generator = Random(seed: seed) }

    /// The device's oscillator at a time.
    func oscillator(_ time: Double) -> Double {
        let (amplitude, period) = wander
        let phase = 2 * Double.pi * time / (period * 1e6)
        return time * (1 + drift / 1e6) + amplitude * period / (2 * Double.pi) * (1 - cosine(phase)) + 5_000_000
    }

    func reading(_ time: Double) -> ClockReading {
        let raw = Int64(oscillator(time).rounded(.down))
        return ClockReading(raw: raw, boot: raw + suspended, awake: raw, wall: raw + deviceWall)
    }

    /// The collector's oscillator at a time.
    func collectorRaw(_ time: Double) -> Int64 {
        Int64((time * (1 + collectorDrift / 1e6) + 77_000_000).rounded(.down))
    }

    /// The true value of the device's time minus the collector's.
    func offset(_ time: Double) -> Double {
        oscillator(time) + Double(suspended) + Double(deviceWall)
            - (time * (1 + collectorDrift / 1e6) + 77_000_000 + Double(collectorWall))
    }

    /// Returns the times at which a request reaches the collector and its answer the device, or nil if one is lost.
    mutating func exchange(_ sent: Double) -> (received: Double, answered: Double, returned: Double)? {
        guard generator.unit() >= loss, generator.unit() >= loss else { return nil }
        let received = sent + delay.request + generator.exponential(mean: jitter)
        let answered = received + generator.exponential(mean: 20)
        return (received, answered, answered + delay.answer + generator.exponential(mean: jitter))
    }

    func pong(_ number: Int64, _ times: (received: Double, answered: Double, returned: Double)) -> ClockPong {
        ClockPong(
            number: number, collector: collector, boot: boot, received: collectorRaw(times.received),
            sent: collectorRaw(times.answered), shift: collectorWall)
    }
}

/// A session on a simulated path, with the wall clock as the device's time line.
struct SimulatedDevice {
    var path: SimulatedPath
    var session = ClockSession()
    /// The true time.
    var time = 0.0
    var points: [ClockPoint] = []
    private var arrivals: [(time: Double, pong: ClockPong)] = []
    private(set) var probes = 0

    init(_ path: SimulatedPath) {
        self.path = path
        session.didConnect(at: path.reading(0))
    }

    /// The device's time line minus its boot clock.
    var lineOffset: Int64 { path.deviceWall }

    /// Runs for a duration in seconds, in steps of at most a second. Calls `check` after each step.
    mutating func run(seconds: Double, check: (inout SimulatedDevice) -> Void = { _ in }) {
        let end = time + seconds * 1e6
        while time < end {
            let now = path.reading(time)
            while let arrival = arrivals.first, arrival.time <= time {
                arrivals.removeFirst()
                session.receive(arrival.pong, at: now, lineOffset: lineOffset)
            }
            session.observe(now, lineOffset: lineOffset, discipline: nil)
            points += session.takePoints()
            if let ping = session.nextPing(at: now) {
                probes += 1
                if let times = path.exchange(time) {
                    arrivals.append((times.returned, path.pong(ping.number, times)))
                    arrivals.sort { $0.time < $1.time }
                }
            }
            check(&self)
            let deadline = session.nextDeadline.map { Double($0 - now.boot) + 1 } ?? 1e6
            var next = time + min(1e6, max(1, deadline))
            if let arrival = arrivals.first { next = min(next, arrival.time) }
            time = min(next, end)
        }
    }

    /// The error of an estimate in µs and its bound, at the current time.
    func error() -> (error: Double, bound: Double)? {
        guard let point = session.newest.first else { return nil }
        let line = Int64((path.oscillator(time) + Double(path.suspended) + Double(lineOffset)).rounded())
        let (offset, bound) = point.extrapolated(by: line - point.time.microseconds)
        return (abs(offset - path.offset(time)), bound)
    }
}

/// A random number generator with a seed (SplitMix64).
struct Random {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// Returns a number from 0 to 1.
    mutating func unit() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

    /// Returns an exponentially distributed number.
    mutating func exponential(mean: Double) -> Double { mean == 0 ? 0 : -mean * logarithm(1 - unit()) }
}
