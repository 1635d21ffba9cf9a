import LockstepMQTT
import Testing

@testable import LockstepCollector

@Suite("Recognition of a NATS server")
struct NATSDetectorTests {
    @Test("a server that refuses NATS's own subjects, but grants a member's topics, is a NATS server")
    func recognised() { #expect(isNATS(.three, own: true, probe: false)) }

    @Test("a broker that grants both or neither, or that knows MQTT 5, is another one")
    func others() {
        #expect(!isNATS(.three, own: true, probe: true))
        #expect(!isNATS(.three, own: false, probe: false))
        #expect(!isNATS(.five, own: true, probe: false))
    }

    private func isNATS(_ version: MQTTVersion, own: Bool, probe: Bool) -> Bool {
        var detector = NATSDetector()
        detector.connected(version, control: 1, probe: 3)
        let isOwnProbe = detector.subscribed(1, isGranted: own)
        // The rights for the topics of leases do not matter: on a NATS server, a member does not need them.
        let isOtherProbe = detector.subscribed(2, isGranted: false)
        let isProbe = detector.subscribed(3, isGranted: probe)
        #expect(!isOwnProbe && !isOtherProbe && isProbe)
        return detector.isNATS
    }
}
