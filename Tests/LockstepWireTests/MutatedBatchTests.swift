import FoundationEssentials
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("A payload damaged at random")
struct MutatedBatchTests {
    @Test("is rejected, or read as a batch that encodes and reads back to the same")
    func mutations() {
        var (random, seed) = seeded("damaged payloads")
        let limits = PayloadLimits(bytes: 1 << 16, samples: 100)
        var taken = 0
        for _ in 0..<20_000 {
            let valid = Batch.random(using: &random)
            let stream = valid.samples.stream
            let damaged = damage(BatchJSON.encode(valid), using: &random)
            guard let batch = try? BatchJSON.decode(Data(damaged), stream: stream, limits: limits) else { continue }
            taken += 1
            let again = try? BatchJSON.decode(Data(BatchJSON.encode(batch)), stream: stream)
            guard let again, again == batch else {
                Issue.record("seed \(seed): \(String(decoding: damaged, as: UTF8.self))")
                return
            }
        }
        // Else the test would show nothing of what is taken.
        #expect(taken > 500, "seed \(seed)")
    }
}
