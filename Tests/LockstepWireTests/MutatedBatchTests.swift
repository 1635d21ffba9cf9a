import FoundationEssentials
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("Randomly damaged payloads")
struct MutatedBatchTests {
    @Test(
        "a damaged payload is rejected, or decoded to a batch that survives a round trip",
        arguments: BatchEncoding.allCases)
    func mutations(_ encoding: BatchEncoding) {
        var (random, seed) = seeded("damaged payloads in \(encoding)")
        func decode(_ payload: [UInt8], _ stream: SensorStream, _ limits: PayloadLimits) -> Batch? {
            try? BatchEncoding.decode(
                Data(payload), contentType: encoding.contentType, stream: stream, limits: limits)
        }
        let limits = PayloadLimits(bytes: 1 << 16, samples: 100)
        var decodedCount = 0
        for _ in 0..<20_000 {
            let valid = Batch.random(using: &random)
            let stream = valid.samples.stream
            let damaged = damage(encoding.encode(valid), using: &random)
            guard let batch = decode(damaged, stream, limits) else { continue }
            decodedCount += 1
            let again = decode(encoding.encode(batch), stream, limits)
            guard let again, again == batch else {
                Issue.record("seed \(seed): \(String(decoding: damaged, as: UTF8.self).debugDescription)")
                return
            }
        }
        // Ensure that enough damaged payloads were accepted for the round trip to be tested.
        #expect(decodedCount > 500, "seed \(seed)")
    }
}
