import Glibc
import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@testable import LockstepMotion

@Suite("Activity")
struct ActivityTests {
    typealias Kind = MotionActivity.Kind

    private let parked = Movement(
        strength: 0.001, vibration: 0.001, sideways: 1.2, burstiness: 3, tilt: 0.1, regularity: 0.3)
    private let standing = Movement(
        strength: 0.015, vibration: 0.01, sideways: 2.6, burstiness: 6, tilt: 1, regularity: 0.3)
    private let vehicle = Movement(
        strength: 0.03, vibration: 0.05, sideways: 0.6, burstiness: 3, tilt: 2, regularity: 0.4)
    private let pedals = Movement(
        strength: 0.25, vibration: 0.12, sideways: 0.8, burstiness: 2.1, tilt: 2, regularity: 0.9, isPedalling: true)
    private let handlebar = Movement(
        strength: 0.4, vibration: 0.2, sideways: 0.8, burstiness: 3.4, tilt: 5, regularity: 0.37)
    private let clothes = Movement(
        strength: 0.22, vibration: 0.13, sideways: 1.5, burstiness: 3.4, tilt: 13, regularity: 0.37)
    private let walk = Movement(strength: 0.3, vibration: 0.1, sideways: 0.8, regularity: 0.9, cadence: 1.9)
    private let run = Movement(strength: 0.6, vibration: 0.4, sideways: 0.6, regularity: 0.9, cadence: 2.7)

    @Test("each movement has its activity without a speed")
    func kinds() {
        let kinds = [parked, standing, vehicle, pedals, handlebar, clothes, walk, run].map(\.activity.kind)
        #expect(
            kinds == [.stationary, .stationary, .automotive, .cycling, .cycling, .unknown, .walking, .running])
        #expect(handlebar.activity.confidence == .low && walk.activity.confidence == .medium)
        var magnitude = vehicle
        magnitude.sideways = nil
        #expect(magnitude.activity.kind == .unknown)
    }

    @Test("a speed decides what acceleration cannot")
    func speed() {
        func activity(_ movement: Movement, at speed: Double) -> String {
            var movement = movement
            movement.speed = speed
            return "\(movement.activity.kind.rawValue) \(movement.activity.confidence.rawValue)"
        }
        #expect(activity(parked, at: 20) == "automotive high")
        #expect(activity(clothes, at: 20) == "automotive high")
        #expect(activity(walk, at: 20) == "automotive high")
        #expect(activity(pedals, at: 9) == "cycling high")
        #expect(activity(pedals, at: 20) == "automotive high")
        #expect(activity(walk, at: 1.5) == "walking high")
        #expect(activity(vehicle, at: 0) == "automotive medium")
        #expect(activity(parked, at: 0) == "stationary high")
        #expect(activity(parked, at: 3) == "unknown low")
    }

    /// Returns the activities with their starts in s.
    private func activities(_ samples: SampleBlock, size: Int = 500) -> [(
        kind: Kind, start: Double, confidence: String
    )] {
        var estimator = ActivityEstimator()
        var found: [(Kind, Double, String)] = []
        for first in stride(from: 0, to: samples.count, by: size) {
            let rows = estimator.update(samples[first..<min(first + size, samples.count)])
            for index in rows.times.indices {
                guard let activity = MotionActivity(row: rows.values(at: index)) else { continue }
                #expect(activity.startDate.microseconds <= rows.times[index])
                found.append(
                    (activity.kind, Double(activity.startDate.microseconds) / 1e6, activity.confidence.rawValue))
            }
        }
        return found
    }

    /// Returns a device at rest for a minute, then gait for 90 s, then at rest for a minute.
    private func walkInBetween(cadence: Double, strength: Double) -> SampleBlock {
        var random = SeededGenerator(seed: 5)
        var block = SampleBlock(stream: .accelerometer)
        for index in 0..<10_500 as Range<Int64> {
            let time = Double(index) / 50
            let swing = (60..<150).contains(time) ? strength * cos(2 * .pi * cadence * time) : 0
            let noise = Double.random(in: -0.002...0.002, using: &random)
            block.append(
                time: Timestamp(microseconds: index * 20_000), values: [0.4 * swing + noise, noise, -1 + swing + noise])
        }
        return block
    }

    @Test(
        "a change is reported once, with the time when it began",
        arguments: [(1.8, 0.3, Kind.walking), (2.8, 0.9, .running)])
    func changes(cadence: Double, strength: Double, kind: Kind) throws {
        let found = activities(walkInBetween(cadence: cadence, strength: strength)).filter { $0.confidence != "high" }
        try #require(found.map(\.kind) == [.stationary, kind, .stationary])
        #expect(abs(found[1].start - 60) < 1.5)
        #expect((150...170).contains(found[2].start))
    }

    @Test("the confidence grows, and the size of blocks and a gap between samples have no effect")
    func confidence() {
        let samples = walkInBetween(cadence: 1.8, strength: 0.3)
        let whole = activities(samples)
        #expect(whole.contains { $0.kind == .walking && $0.confidence == "high" })
        let single = activities(samples, size: 1)
        #expect(single.map(\.start) == whole.map(\.start))
        let gap = activities(samples.without(20_000_000..<30_000_000)).filter { $0.confidence != "high" }
        #expect(gap.map(\.kind) == [.stationary, .walking, .stationary])
    }

    @Test("rows are read as they are written, and invalid ones are not read")
    func rows() {
        let activity = MotionActivity(startDate: Timestamp(microseconds: 7), kind: .cycling, confidence: .high)
        #expect(activity.values == [7, 4, 2])
        #expect(MotionActivity(row: activity.values) == activity)
        #expect(MotionActivity(row: [7, 6, 0]) == nil && MotionActivity(row: [7, -1, 0]) == nil)
        #expect(SensorStream.activity.columns[1].kind == .choice(Kind.allCases.map(\.rawValue)))
        #expect(SensorStream.activity.columns[2].kind == .choice(MotionActivity.Confidence.allCases.map(\.rawValue)))
    }

    /// The documented least share of the time after the first 20 s in which an activity is recognised, and the largest in
    /// which another one is.
    private static let shares: [String: (right: Double, wrong: Double)] = [
        "stationary": (0.9, 0.02), "walking": (0.95, 0.03), "running": (0.9, 0.08), "cycling": (0.6, 0.06),
        "automotive": (0.55, 0.1),
    ]

    @Test(
        "recorded activities are recognised, or unknown rather than wrong", .enabled(if: sharedData != nil),
        arguments: shares.keys.sorted())
    func recorded(activity: String) throws {
        var seconds: [String: Double] = [:]
        for recording in try RecordedWalk.activities.get() where recording.activity == activity {
            let (first, last) = (recording.samples.times.first ?? 0, recording.samples.times.last ?? 0)
            let begin = Double(first) / 1e6 + 20
            let end = Double(last) / 1e6
            let found = activities(recording.samples)
            for (index, one) in found.enumerated() {
                let next = index + 1 < found.count ? found[index + 1].start : end
                seconds[one.kind.rawValue, default: 0] += max(0, min(next, end) - max(one.start, begin))
            }
            seconds["all", default: 0] += max(0, end - begin)
        }
        let all = seconds.removeValue(forKey: "all") ?? 0
        let right = (seconds[activity] ?? 0) / all
        let wrong = seconds.filter { $0.key != activity && $0.key != "unknown" }.values.reduce(0, +) / all
        print("\(activity): right \(right), wrong \(wrong), of \(all) s: \(seconds)")
        let limit = try #require(Self.shares[activity])
        #expect(right >= limit.right && wrong <= limit.wrong)
    }
}
