import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("Recognition of a NATS server")
struct NATSDetectorTests {
    @Test("a server that refuses only NATS's own subjects is a NATS server")
    func recognised() { #expect(result(.three, control: true, rights: true, probe: false) == .nats) }

    @Test("a broker that grants the probe, refuses a member's topics or knows MQTT 5 is another one")
    func others() {
        #expect(result(.three, control: true, rights: true, probe: true) == .other)
        #expect(result(.three, control: true, rights: false, probe: true) == .other)
        #expect(result(.three, control: false, rights: true, probe: false) == .other)
        #expect(result(.five, control: true, rights: true, probe: false) == .other)
    }

    @Test("a broker whose access rules also refuse other topics may be any")
    func unclear() { #expect(result(.three, control: true, rights: false, probe: false) == .unclear) }

    private func result(_ version: MQTTVersion, control: Bool, rights: Bool, probe: Bool) -> NATSDetector.Result? {
        var detector = NATSDetector()
        detector.connected(version, control: 1, rights: 3, probe: 4)
        // The rights for the topics of leases do not matter: on a NATS server, a member does not need them.
        let answers = [(1, control), (2, false), (3, rights), (4, probe)] as [(Int32, Bool)]
        let results = answers.map { detector.subscribed($0, isGranted: $1) }
        #expect(results.dropLast().allSatisfy { $0 == nil })
        #expect(answers.map { detector.isProbe($0.0) } == [false, false, true, true])
        return results[3]
    }
}
