import LockstepModel
import Testing

@testable import LockstepGateway

@Suite("Pairs of acceleration and gravity")
struct AccelerationPairsTests {
    private func acceleration(_ time: Int64) -> AccelerationPart {
        AccelerationPart(time: time, x: 0, y: 0, z: 0, isGravity: false)
    }

    /// A gravity whose `z` names it.
    private func gravity(_ time: Int64) -> AccelerationPart {
        AccelerationPart(time: time, x: 0, y: 0, z: Double(time), isGravity: true)
    }

    private func partners(_ readings: [Reading]) -> [Double?] { readings.map { $0.number("z") } }

    @Test("each acceleration gets the gravity of the nearest time", arguments: [2, 3000, -3000, 4999] as [Int64])
    func nearest(_ difference: Int64) {
        var pairs = AccelerationPairs()
        let times = (1...100).map { Int64($0) * 10_000 }
        let readings = pairs.add(times.map(acceleration) + times.map { gravity($0 + difference) }, at: 0)
        #expect(readings.map(\.time) == times)
        #expect(partners(readings) == times.map { Double($0 + difference) })
    }

    @Test("a part waits for a nearer one of the next message, in either order")
    func nextMessage() {
        var pairs = AccelerationPairs()
        #expect(pairs.add([gravity(983_000), acceleration(990_000)], at: 0).isEmpty)
        #expect(partners(pairs.add([gravity(993_000)], at: 1_000_000)) == [993_000])
        #expect(pairs.add([gravity(1_988_000)], at: 2_000_000).isEmpty)
        #expect(partners(pairs.add([acceleration(1_990_000), gravity(1_998_000)], at: 3_000_000)) == [1_988_000])
    }

    @Test("what has waited long enough takes the nearest part within the tolerance, or is counted as left out")
    func expiry() {
        var pairs = AccelerationPairs()
        #expect(pairs.add([gravity(1000), acceleration(10_000), acceleration(50_000)], at: 0).isEmpty)
        let early = pairs.expire(at: AccelerationPairs.wait - 1)
        #expect(early.readings.isEmpty && early.unpaired == 0)
        let (readings, unpaired) = pairs.expire(at: AccelerationPairs.wait)
        #expect(partners(readings) == [1000] && unpaired == 1)
        #expect(pairs.isEmpty)
        _ = pairs.add([acceleration(1)], at: 1_000_000_000)
        #expect(pairs.expire(at: 0).unpaired == 1, "the clock was set back")
    }

    @Test("parts of different messages become a sample, also when a commit fails in between")
    func intake() async throws {
        try await withOutbox(for: SensorLoggerAdapter()) { configuration, outbox in
            var intake = GatewayIntake(configuration)
            func ingest(_ name: String, _ time: Int64) throws {
                let text =
                    #"{"deviceId":"d","payload":[{"name":"\#(name)","time":\#(time)000,"values":{"x":0,"y":0,"z":9.80665}}]}"#
                _ = try intake.ingest(
                    ForeignMessage(origin: .topic("sensor-logger"), payload: Array(text.utf8), receivedAt: receipt),
                    outbox: outbox)
            }
            let time = receipt.microseconds
            try ingest("accelerometer", time)
            #expect(intake.sampleCount == 0)
            intake.didCommit(true)
            try ingest("gravity", time + 2)
            #expect(intake.sampleCount == 1)
            intake.didCommit(false)
            _ = intake.takeAdditions()
            try ingest("gravity", time + 2)
            #expect(intake.sampleCount == 1, "the message arrives again")
            intake.didCommit(true)
            try ingest("accelerometer", time + 50_000)
            #expect(intake.expireParts(at: receipt, isAll: true).map(\.unpaired) == [1])
        }
    }
}
