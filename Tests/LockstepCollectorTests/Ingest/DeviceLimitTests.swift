import LockstepModel
import LockstepStore
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("Limits of a device")
struct DeviceLimitTests {
    private static let topic = "lockstep/lab/pi/motion/accelerometer"
    private var intake = Intake.standard
    private var registry = LifecycleRegistry([:], timing: .init(), at: moment(0))

    private mutating func ingest(_ text: String, of device: String = "pi", _ channel: String, _ seconds: Double)
        -> String?
    {
        intake.ingest("lockstep/lab/\(device)/\(channel)", Array(text.utf8), &registry, seconds)
        return intake.takeGroup(&registry, at: moment(seconds)).rejected.first?.reason
    }

    private mutating func batch(
        _ epoch: String, seq: Int64 = 1, of device: String = "pi", _ seconds: Double = 10
    ) -> String? {
        ingest(
            #"{"epoch":"\#(epoch)","seq":\#(seq),"t":\#(time(1).microseconds),"x":[1],"y":[0],"z":[0]}"#, of: device,
            "motion/accelerometer", seconds)
    }

    @Test("an allowance: a number at once, and then one in each interval")
    func allowance() {
        var allowance = Allowance()
        let rate = Allowance.Rate(burst: 3, interval: 10)
        let granted = [0, 0, 0, 0, 9, 10, 10, 19, 20, 1000, 1000, 1000, 1000].map { allowance.take(rate, at: $0) }
        #expect(
            granted == [true, true, true, false, false, true, false, false, true, true, true, true, false])
    }

    @Test("batches in too many new epochs are refused for now, those of known epochs and of other devices are not")
    mutating func epochs() {
        intake.deviceLimits.epochs = .init(burst: 3, interval: 60_000_000)
        #expect((0...3).map { batch("e\($0)") } == [nil, nil, nil, nil])
        #expect(batch("e4")?.hasPrefix("too many new epochs: at most 3 at once, and one in 60 s after that") == true)
        let refusals = intake.refusedBatches.take(at: 0)
        #expect(refusals.map(\.position.epoch.rawValue) == ["e4"], "the agent is told, and keeps the batch")
        #expect(batch("e0", seq: 2) == nil && batch("e3", seq: 2) == nil && batch("e9", of: "other") == nil)
        #expect(batch("e4", 69.9) != nil)
        #expect(batch("e4", 70) == nil && batch("e5", 70) != nil)
    }

    @Test("an invalid batch in a new epoch is not recorded as dropped beyond the limit")
    mutating func invalid() {
        intake.deviceLimits.epochs = .init(burst: 1, interval: 60_000_000)
        for epoch in ["a", "b", "c"] {
            intake.ingest(
                Self.topic, Array(#"{"epoch":"\#(epoch)","seq":1,"t":1,"x":[null],"y":[1],"z":[1]}"#.utf8), &registry, 0
            )
        }
        let group = intake.takeGroup(&registry, at: moment(0))
        #expect(group.dropped.map(\.epoch.rawValue) == ["a", "b"] && group.rejected.count == 3)
    }

    @Test("presences with too many new epochs are refused, and leave no dropped batches and no estimates")
    mutating func presenceEpochs() {
        intake.deviceLimits.epochs = .init(burst: 2, interval: 60_000_000)
        var groups: [IngestGroup] = []
        for number in 0..<5 {
            let presence = Presence(
                epoch: Epoch(unchecked: "e\(number)"), session: 1, phase: .foreground, at: time(Double(number)),
                dropped: [1...2])
            intake.ingest("lockstep/lab/pi/presence", PresenceJSON.encode(presence), &registry, 10)
            groups.append(intake.takeGroup(&registry, at: moment(10)))
        }
        #expect(groups.map(\.dropped.count) == [1, 1, 1, 0, 0])
        #expect(groups.map(\.rejected.count) == [0, 0, 0, 1, 1])
    }

    @Test("too many changes of state are refused, but not presences that change nothing")
    mutating func transitions() {
        intake.deviceLimits.transitions = .init(burst: 3, interval: 10_000_000)
        func presence(_ phase: String, _ second: Double) -> String {
            #"{"phase":"\#(phase)","at":\#(time(second).microseconds),"session":1}"#
        }
        #expect(ingest(presence("foreground", 1), "presence", 10) == nil)
        for second in 2...9 { #expect(ingest(presence("foreground", Double(second)), "presence", 10) == nil) }
        #expect(ingest(presence("background", 10), "presence", 10) == nil)
        #expect(ingest(presence("foreground", 10.1), "presence", 10.1) == nil)
        let reason = ingest(presence("background", 10.2), "presence", 10.2)
        #expect(reason == "too many changes of state: at most 3 at once, and one in 10 s after that")
        #expect(registry.state(of: device) == .resumed)
        #expect(ingest(presence("background", 20.3), "presence", 20.3) == nil)
        #expect(registry.state(of: device) == .background)
    }

    @Test("too many presences are refused before they are read, and leave the limits of others alone")
    mutating func presences() {
        intake.deviceLimits.presences = .init(burst: 3, interval: 10_000_000)
        // The first one makes the device known.
        for second in 1...4 { #expect(ingest(#"{"phase":"foreground"}"#, "presence", Double(second)) == nil) }
        let reason = "too many presences: at most 3 at once, and one in 10 s after that"
        #expect(ingest("no JSON", "presence", 5) == reason)
        #expect(ingest("no JSON", "presence", 15)?.hasPrefix("too many") == false)
    }

    @Test("a presence of a session in the future is refused: later ones with the right time would count as older")
    mutating func session() {
        let text = { (second: Double) in #"{"phase":"foreground","session":\#(time(second).microseconds)}"# }
        #expect(ingest(text(71), "presence", 10)?.contains("is in the future: check the clocks") == true)
        #expect(registry.state(of: device) == nil)
        #expect(ingest(text(70), "presence", 10) == nil)
    }

    @Test("an epoch with too many gaps accepts only batches that adjoin others, until gaps are filled")
    mutating func gaps() {
        (intake.deviceLimits.ranges, intake.deviceLimits.minRanges) = (2, 1)
        #expect(batch("e", seq: 1) == nil && batch("e", seq: 3) == nil && batch("e", seq: 5) == nil)
        let key = DeviceEpoch(device: device, epoch: Epoch(unchecked: "e"))
        var received = SequenceSet([1...1, 3...3, 5...5])
        intake.didCommit(IngestResult.Scope(key: key, number: 0, received: received))
        #expect(batch("e", seq: 7)?.hasPrefix("too many missing batches in the epoch 'e'") == true)
        #expect(batch("e", seq: 6) == nil && batch("e", seq: 4) == nil && batch("e", seq: 3) == nil)
        let dropped = { (range: String) in #"{"epoch":"e","phase":"foreground","dropped":[\#(range)]}"# }
        #expect(ingest(dropped("[9,9]"), "presence", 10)?.hasPrefix("too many missing batches") == true)
        #expect(ingest(dropped("[2,2]"), "presence", 10) == nil)
        received.insert(2...4)
        intake.didCommit(IngestResult.Scope(key: key, number: 0, received: received))
        #expect(batch("e", seq: 9) == nil)
    }

    @Test("a device with many epochs may have fewer ranges in each")
    mutating func gapsOfManyEpochs() {
        (intake.deviceLimits.ranges, intake.deviceLimits.minRanges) = (6, 2)
        func isRefused(_ epoch: String, ranges: Int64) -> Bool {
            let received = SequenceSet((0..<ranges).map { 2 * $0 + 1...2 * $0 + 1 })
            let key = DeviceEpoch(device: device, epoch: Epoch(unchecked: epoch))
            #expect(batch(epoch, seq: 1) == nil)
            intake.didCommit(IngestResult.Scope(key: key, number: 0, received: received))
            return batch(epoch, seq: 99) != nil
        }
        #expect(!isRefused("a", ranges: 6))
        #expect(isRefused("b", ranges: 4) && !isRefused("b", ranges: 3))
        for number in 0..<8 { #expect(!isRefused("c\(number)", ranges: 2) && isRefused("c\(number)", ranges: 4)) }
    }

    @Test("estimates of a clock: each once, and not too many")
    func estimates() {
        var usage = DeviceUsage()
        var limits = DeviceLimits()
        limits.estimates = .init(burst: 3, interval: 10)
        let stored = [1, 1, 2, 1, 3, 4].map { usage.useEstimate(time($0), of: epoch, limits, at: 0) }
        #expect(stored == [true, false, true, false, true, false])
        usage.restore()
        let again = usage.useEstimate(time(1), of: epoch, limits, at: 0)
        #expect(again, "the transaction was rolled back")
    }

    @Test("rejected messages of one device beyond a limit are counted, and do not push out those of others")
    mutating func rejections() {
        intake.deviceLimits.rejections = .init(burst: 2, interval: 60_000_000)
        for number in 0..<5 { intake.ingest("lockstep/lab/pi/x/r\(number)", [1], &registry, 10) }
        intake.ingest("lockstep/lab/ant/x/r", [1], &registry, 10)
        let topics = intake.takeGroup(&registry, at: moment(10)).rejected.map(\.topic)
        #expect(topics == ["lockstep/lab/pi/x/r0", "lockstep/lab/pi/x/r1", "lockstep/lab/ant/x/r"])
        #expect(intake.takeUnstoredRejections() == 3)
        #expect(intake.takeUnstoredRejections() == 0)
    }
}
