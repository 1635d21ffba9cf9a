import LockstepCommandLine
import LockstepModel
import LockstepRules

let left = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))
/// A Monday at midnight, in s since 1970.
let monday = 1_700_438_400.0

func microseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1e6).rounded()) }

/// An engine with one device, and the events so far.
struct Bench {
    var engine: RuleEngine
    var events: [RuleEvent] = []
    /// The delay from the time of a sample to its receipt, in s.
    var delay = 0.0
    /// The time by which the wall clock is ahead, in s.
    var clockAhead = 0.0

    init(_ yaml: String, states: [RuleEngine.Change] = [], newest: Double? = nil, start: Double = 0) throws {
        engine = RuleEngine(try parseRules(yaml, file: "rules.yaml"), states: states)
        engine.add(left, number: 1, at: Self.moment(start))
        for stream in SensorStream.builtIn where engine.needsNewest(of: stream, device: 1) {
            engine.setNewest(newest.map(microseconds) ?? .min, of: stream, device: 1)
        }
        engine.commit()
    }

    /// Passes samples at times in s.
    mutating func send(_ stream: SensorStream, _ rows: [(Double, [Double])], isLive: Bool = true) {
        var block = SampleBlock(stream: stream)
        for (time, values) in rows {
            block.append(time: Timestamp(microseconds: microseconds(time)), values: values)
        }
        guard let last = rows.last else { return }
        let arrival = RuleEngine.Arrival(
            at: Timestamp(microseconds: microseconds(last.0 + delay)), boot: microseconds(last.0 - monday),
            isLive: isLive)
        engine.samples(block, rows: block.times.indices, of: 1, arrival: arrival, into: &events)
    }

    /// Passes values of the stream `pressure`, as one block.
    mutating func pressure(_ rows: (Double, Double)...) { send(.pressure, rows.map { (monday + $0.0, [$0.1]) }) }

    mutating func tick(_ seconds: Double, listeningSince: Double = 0) {
        let moment = Self.moment(seconds, clockAhead: clockAhead)
        engine.tick(at: moment, listeningSince: microseconds(listeningSince), into: &events)
    }

    mutating func become(_ state: LifecycleState, _ seconds: Double) {
        let moment = Self.moment(seconds, clockAhead: clockAhead)
        let change = LifecycleTransition(from: nil, to: state, since: moment.wall, reason: "test", seq: 1)
        engine.transition(change, of: 1, at: moment, into: &events)
    }

    private static func moment(_ seconds: Double, clockAhead: Double = 0) -> Moment {
        Moment(
            wall: Timestamp(microseconds: microseconds(monday + seconds + clockAhead)), boot: microseconds(seconds),
            awake: microseconds(seconds))
    }

    /// The times of the events in s after `monday`.
    var times: [Double] { events.map { Double($0.time.microseconds) / 1e6 - monday } }
}

/// A fix of the stream `location`, in m north of a place in Berlin.
func fix(north: Double, accuracy: Double = 5, speed: Double = .nan) -> [Double] {
    [52.5 + north / 111_268, 13.4, .nan, accuracy, .nan, speed, .nan, .nan, .nan]
}
