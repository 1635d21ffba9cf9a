import FoundationEssentials
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("Canonical batch reader")
struct CanonicalBatchTests {
    @Test("every encoded batch is decoded bit for bit")
    func encodedBatches() {
        var (random, seed) = seeded("canonical batches")
        for _ in 0..<2000 {
            let batch = Batch.random(using: &random)
            let payload = BatchJSON.encode(batch)
            let read = canonical(payload, of: batch.samples.stream)
            #expect(read.map { areIdentical($0, batch) } == true, "seed \(seed): \(text(payload))")
        }
    }

    @Test(
        "numbers are decoded as by the JSON decoder",
        arguments: [
            "0", "-0.0", "0.1", "-0.9873", "123456789012345678", "9007199254740993", "0.30000000000000004", "5e-324",
            "1.7976931348623157e+308", "2.2250738585072014e-308", "1e-7", "1e22", "1e23", "8.5e+16",
            "0.0000000000000000000000012345", "179769313486231570000000000000000000000.0",
        ])
    func numbers(_ number: String) throws {
        let payload = Array(#"{"v":1,"t":1,"x":[\#(number)],"y":[1],"z":[1]}"#.utf8)
        let whole = try payload.withUnsafeBytes {
            try BatchJSON.decodeAny($0, stream: .accelerometer, limits: PayloadLimits())
        }
        let read = try #require(canonical(payload, of: .accelerometer))
        #expect(areIdentical(read, whole))
    }

    @Test(
        "numbers that the JSON decoder rejects are not decoded",
        arguments: [
            "01", "1.", ".5", "-", "1e", "1e+", "+1", "0x10", "1e999", "NaN", "inf", "1 ", "--1", "1.5.2", "1e5e5",
            "99999999999999999E5", "99999999999999999}",
        ])
    func invalidNumbers(_ number: String) {
        let payload = Array(#"{"v":1,"t":1,"x":[\#(number)],"y":[1],"z":[1]}"#.utf8)
        #expect(canonical(payload, of: .accelerometer) == nil)
    }

    @Test("a damaged batch is decoded as by the JSON decoder, or not at all")
    func damaged() {
        var (random, seed) = seeded("damaged canonical batches")
        let limits = PayloadLimits(bytes: 1 << 16, samples: 100)
        var decodedCount = 0
        for _ in 0..<20_000 {
            let valid = Batch.random(using: &random)
            let stream = valid.samples.stream
            let payload = damage(BatchJSON.encode(valid), using: &random)
            guard let read = canonical(payload, of: stream, limits: limits) else { continue }
            decodedCount += 1
            let whole = try? payload.withUnsafeBytes { try BatchJSON.decodeAny($0, stream: stream, limits: limits) }
            guard whole.map({ areIdentical($0, read) }) == true else {
                Issue.record("seed \(seed): \(text(payload))")
                return
            }
        }
        #expect(decodedCount > 500, "seed \(seed)")
    }

    private func canonical(
        _ payload: [UInt8], of stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) -> Batch? {
        payload.withUnsafeBytes { BatchJSON.decodeCanonical($0, stream: stream, limits: limits) }
    }
}
