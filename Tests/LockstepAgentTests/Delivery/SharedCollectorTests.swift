import LockstepModel
import Testing

@testable import LockstepAgent

/// Simulations of agents that share a collector, without real time.
@Suite("A collector that many agents share")
struct SharedCollectorTests {
    @Test("after an outage, live batches of many agents do not wait long behind their backlog")
    func manyAgents() {
        let result = SharedCollector(agents: 300, rate: 450).run(seconds: 90)
        #expect(result.meanLiveDelay(from: 30) < 2.5)
        #expect(result.liveDelay(ofEach: 0.95, from: 30) < 4)
        #expect(result.stored(from: 30, to: 90) >= Int(0.85 * 450 * 60))
    }

    @Test("a slow commit is no queue: the backlog of one agent uses the collector", arguments: [0.2, 0.5, 3, 6])
    func slowDisk(commit: Double) {
        // The window grows once in a commit and the next.
        let start = max(30, 25 * commit)
        let result = SharedCollector(agents: 1, rate: 2000, commit: commit).run(seconds: 2 * start)
        // An acknowledgement a second, or one for each commit and the next, and at most a thousand batches in flight.
        #expect(result.stored(from: start, to: 2 * start) >= Int(start * 500 / max(2, 2 * commit)))
        #expect(result.meanLiveDelay(from: start) < max(2.5, 2.5 * commit))
    }

    @Test("the backlog of many agents uses a collector with slow commits")
    func slowDiskOfMany() {
        let result = SharedCollector(agents: 200, rate: 1000, commit: 3).run(seconds: 120)
        #expect(result.stored(from: 60, to: 120) >= Int(0.85 * 1000 * 60))
        // A batch waits for the end of a commit, and for its own. The queue adds about one.
        #expect(result.liveDelay(ofEach: 0.95, from: 60) < 4 * 3)
    }
}

/// Agents with endless backlog and one live batch a second each, and a collector that stores a number of batches a second.
private struct SharedCollector {
    let agents: Int
    /// The batches a second that the collector stores.
    let rate: Int
    /// The duration of a commit in s. The next one begins after it.
    var commit = 0.1

    struct Result {
        /// The delay of each live batch by the time at which it was stored, both in s.
        var live: [(at: Double, delay: Double)] = []
        /// The number of batches of each commit.
        var commits: [(at: Double, count: Int)] = []

        func meanLiveDelay(from start: Double) -> Double {
            let delays = live.filter { $0.at >= start }.map(\.delay)
            return delays.reduce(0, +) / Double(max(1, delays.count))
        }

        func liveDelay(ofEach part: Double, from start: Double) -> Double {
            let delays = live.filter { $0.at >= start }.map(\.delay).sorted()
            return delays[Int(part * Double(delays.count - 1))]
        }

        func stored(from start: Double, to end: Double) -> Int {
            commits.filter { start <= $0.at && $0.at < end }.reduce(0) { $0 + $1.count }
        }
    }

    private struct Agent {
        let epoch: Epoch
        var window = InFlightWindow()
        var nextLive: Double
        var seq: Int64 = 0
        var unacknowledged = SequenceSet()
        /// The time of the read before the one that read the newest committed batch.
        var lastReadEnd = 0.0
        var acknowledgedAt = -1.0
        var acknowledgeAt: Double?
    }

    private struct Queued {
        let agent: Int
        let seq: Int64
        let isLive: Bool
        let at: Double
    }

    func run(seconds: Double) -> Result {
        var result = Result()
        var states = (0..<agents).map { number in
            Agent(epoch: Epoch(unchecked: "e\(number)"), nextLive: Double(number) / Double(agents))
        }
        var queue: [Queued] = []
        var head = 0
        var committing: ArraySlice<Queued> = []
        var nextCommit = 0.0
        for step in 0..<Int(seconds / 0.05) {
            let now = Double(step) * 0.05
            let boot = Int64(now * 1_000_000)
            for index in states.indices {
                states[index].window.tick(at: boot)
                func publish(isLive: Bool) {
                    states[index].seq += 1
                    let position = BatchPosition(epoch: states[index].epoch, seq: states[index].seq)
                    states[index].window.didPublish(position, isBacklog: !isLive, at: boot)
                    states[index].window.confirm(position, at: boot)
                    queue.append(Queued(agent: index, seq: position.seq, isLive: isLive, at: now))
                }
                if now >= states[index].nextLive {
                    publish(isLive: true)
                    states[index].nextLive += 1
                }
                while states[index].window.isOpen { publish(isLive: false) }
                acknowledge(&states[index], at: now)
            }
            guard now >= nextCommit else { continue }
            nextCommit += commit
            // What was read at the last step is committed, and the next batches are read.
            for batch in committing {
                if batch.isLive { result.live.append((now, now - batch.at)) }
                states[batch.agent].unacknowledged.insert(batch.seq...batch.seq)
                states[batch.agent].lastReadEnd = now - 2 * commit
                let earliest = states[batch.agent].acknowledgedAt + 0.9
                if states[batch.agent].acknowledgeAt == nil {
                    states[batch.agent].acknowledgeAt = max(now + 0.1, earliest)
                }
            }
            result.commits.append((now, committing.count))
            let end = min(queue.count, head + Int(Double(rate) * commit))
            committing = queue[head..<end]
            head = end
        }
        return result
    }

    private func acknowledge(_ agent: inout Agent, at now: Double) {
        guard let due = agent.acknowledgeAt, now >= due else { return }
        agent.window.acknowledge(
            agent.unacknowledged, holdTime: Int64((now - agent.lastReadEnd) * 1_000_000), of: agent.epoch,
            at: Int64(now * 1_000_000))
        agent.unacknowledged = SequenceSet()
        agent.acknowledgedAt = now
        agent.acknowledgeAt = nil
    }
}
