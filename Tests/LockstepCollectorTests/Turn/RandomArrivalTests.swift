import Foundation
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepCollector

@Suite("Turn machine: random arrivals")
struct RandomArrivalTests {
    /// A load, and the result that is expected from it.
    struct Load: CustomTestStringConvertible {
        /// Messages per second.
        let rate: Double
        /// The samples of a message.
        let samples: Int
        var window = 60_000
        /// The limits of commits per second.
        let commits: ClosedRange<Double>
        /// The maximum delay from the arrival of a message to its acknowledgement, in ms, for all but one message in
        /// twenty.
        let delay: Double

        var testDescription: String { "\(rate) messages/s of \(samples) samples in a window of \(window)" }
    }

    private static let loads = [
        Load(rate: 1, samples: 20, commits: 0.3...2.2, delay: 60),
        Load(rate: 30, samples: 1, commits: 10...20, delay: 100),
        Load(rate: 100, samples: 1, commits: 9...16, delay: 110),
        // The load of the latency benchmark.
        Load(rate: 300, samples: 100, commits: 18...30, delay: 50),
        Load(rate: 1000, samples: 1, commits: 9...14, delay: 110),
        Load(rate: 1000, samples: 100, commits: 35...48, delay: 30),
        Load(rate: 10_000, samples: 1, commits: 9...14, delay: 115),
        Load(rate: 10_000, samples: 1, window: 1000, commits: 9...14, delay: 115),
        Load(rate: 600, samples: 1, window: 20, commits: 28...40, delay: 60),
    ]

    @Test("commits are few in a large fleet, and prompt in a small one", arguments: loads)
    func commits(load: Load) {
        let (random, seed) = seeded("random arrivals")
        var simulation = Simulation(load, random: random)
        simulation.run()
        #expect(load.commits.contains(simulation.commitsPerSecond), "seed \(seed)")
        #expect(simulation.delay(0.95) <= load.delay, "seed \(seed)")
        // Reading takes at most 250 ms, and the commit takes a few more.
        #expect(simulation.delay(1) <= 270, "seed \(seed)")
    }
}

/// A collector with a simulated clock, whose messages arrive at random times.
private struct Simulation {
    private static let seconds = 30.0

    private let load: RandomArrivalTests.Load
    private let begin = ContinuousClock.now
    private var now: ContinuousClock.Instant
    private var machine: TurnMachine
    /// The times of arrival at the broker.
    private var arrivals: [ContinuousClock.Instant] = []
    /// The numbers of messages that were read, and acknowledged.
    private var read = 0
    private var acknowledged = 0
    private var pendingSamples = 0
    private var commits = 0
    /// The delays of all messages in ms, from arrival to acknowledgement.
    private var delays: [Double] = []

    init(_ load: RandomArrivalTests.Load, random: SeededGenerator) {
        self.load = load
        now = begin
        machine = TurnMachine(TurnLimits(), at: now)
        _ = machine.handle(.connected(devices: 0), at: now)
        var random = random
        var time = 0.0
        while time < Self.seconds {
            time -= log(Double.random(in: Double.leastNonzeroMagnitude...1, using: &random)) / load.rate
            arrivals.append(begin + .seconds(time))
        }
    }

    var commitsPerSecond: Double { Double(commits) / Self.seconds }

    func delay(_ quantile: Double) -> Double { delays.sorted()[Int(quantile * Double(delays.count - 1))] }

    mutating func run() {
        while read < arrivals.count {
            now = max(now, min(nextReadable ?? arrivals[read], now + TurnMachine.maxIdle))
            var action = machine.handle(.wokeUp(hasUnsentData: false), at: now)
            while let event = perform(action) { action = machine.handle(event, at: now) }
        }
    }

    /// The time at which the next message is readable, or nil if the broker waits for an acknowledgement.
    private var nextReadable: ContinuousClock.Instant? {
        guard read < arrivals.count, read < acknowledged + load.window else { return nil }
        return arrivals[read]
    }

    private var isReadable: Bool { nextReadable.map { $0 <= now } ?? false }

    private mutating func perform(_ action: TurnMachine.Action) -> TurnMachine.Event? {
        switch action {
        case .read:
            var result = TurnMachine.ReadResult()
            while result.messages < TurnMachine.readLimit, isReadable {
                result.messages += 1
                read += 1
                pendingSamples += load.samples
            }
            now += .microseconds(5 * result.messages)
            result.unacknowledged = result.messages
            result.pendingSamples = pendingSamples
            return .read(result)
        case .pause(let end):
            now = max(now, end)
            return .paused(isStoreIdle: true)
        case .handOver:
            defer { pendingSamples = 0 }
            return .handedOver(samples: pendingSamples)
        case .review: return .reviewed(pendingSamples > 0 ? .urgent : .none)
        case .commit:
            now += .milliseconds(1) + .microseconds(pendingSamples)
            pendingSamples = 0
            commits += 1
            return .committed(next: nil)
        case .settle: return .settled
        case .publish: return .published
        case .flush:
            delays += arrivals[acknowledged..<read].map { (now - $0) / .milliseconds(1) }
            acknowledged = read
            return .flushed
        case .subscribe, .rollBack, .abandonConnection, .endTurn: return nil
        }
    }
}
