import LockstepMQTT

@testable import LockstepAgent

/// A model of the way from an agent to its broker: a first-in-first-out queue with a rate, and a latency. It has no real time.
struct SimulatedLink: Sendable {
    /// The rate towards the broker in bytes a second, at a time in s.
    var rate: @Sendable (Double) -> Double = { _ in 125_000 }
    /// The latency of each direction in s.
    var latency: @Sendable (Double) -> Double = { _ in 0.1 }
    /// The rate of PUBACKs in bytes a second, and the size of each with the headers of TCP and IP.
    var returnRate = 1_000_000.0
    var returnBytes = 64.0
    /// The sizes of the live messages of each second, and of each backlog message.
    var liveSizes: [Int] = [270]
    var backlogSize = 2600
    var hasBacklog = true
    /// The number of messages with QoS 1 that the broker allows in flight.
    var maxInFlight: Int?

    /// A delivered message.
    struct Delivered {
        let bytes: Int
        let isLive: Bool
        let sentAt: Double
        let at: Double
        /// The number of messages with QoS 1 in flight after it.
        let inFlight: Int
    }

    /// Runs the link and returns what it delivered.
    func run(seconds: Double, window: LinkWindow? = nil) -> [Delivered] {
        var window = window ?? LinkWindow(maxInFlight: maxInFlight)
        var delivered: [Delivered] = []
        var pubacks: [(id: Int32, at: Double)] = []
        var firstPuback = 0
        var freeAt = 0.0
        var returnFreeAt = 0.0
        var now = 0.0
        var nextLive = 0.0
        func microseconds(_ time: Double) -> Int64 { Int64(time * 1_000_000) }
        func send(_ bytes: Int, isLive: Bool) {
            let id = Int32(delivered.count + 1)
            let qos: QualityOfService = window.needsPuback(isBacklog: !isLive) ? .atLeastOnce : .atMostOnce
            window.didPublish(id, bytes: bytes, isBacklog: !isLive, qos: qos, at: microseconds(now))
            freeAt = max(freeAt, now) + Double(bytes) / rate(max(freeAt, now))
            let atBroker = freeAt + latency(freeAt)
            if qos == .atLeastOnce {
                returnFreeAt = max(returnFreeAt, atBroker) + returnBytes / returnRate
                pubacks.append((id, returnFreeAt + latency(freeAt)))
            }
            delivered.append(
                Delivered(
                    bytes: bytes, isLive: isLive, sentAt: now, at: atBroker, inFlight: pubacks.count - firstPuback))
        }
        while now < seconds {
            if now >= nextLive {
                for size in liveSizes { send(size, isLive: true) }
                nextLive += 1
            }
            while firstPuback < pubacks.count, pubacks[firstPuback].at <= now {
                window.didReceivePuback(pubacks[firstPuback].id, at: microseconds(now))
                firstPuback += 1
            }
            while hasBacklog, window.isOpen { send(backlogSize, isLive: false) }
            now = min(nextLive, firstPuback < pubacks.count ? max(pubacks[firstPuback].at, now + 1e-6) : nextLive)
        }
        return delivered
    }

    /// The part of the link that is used in a time, from 0 to 1.
    func use(of delivered: [Delivered], from start: Double, to end: Double) -> Double {
        let bytes = delivered.filter { start <= $0.at && $0.at < end }.reduce(0) { $0 + $1.bytes }
        return Double(bytes) / ((end - start) * rate(start))
    }

    /// The mean age of live samples at the broker in s, if each message has samples of the last second.
    func age(of delivered: [Delivered], from start: Double, to end: Double) -> Double {
        let delays = delivered.filter { $0.isLive && start <= $0.sentAt && $0.sentAt < end }.map { $0.at - $0.sentAt }
        return delays.reduce(0, +) / Double(max(1, delays.count)) + 0.5
    }
}
