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
