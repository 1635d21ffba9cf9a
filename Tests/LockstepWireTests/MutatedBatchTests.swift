import FoundationEssentials
import LockstepModel
import LockstepSensors
import LockstepWire
import SensorTestSupport
import Testing

@Suite("A payload damaged at random")
struct MutatedBatchTests {
    @Test(
        "is rejected, or read as a batch that encodes and reads back to the same", arguments: BatchEncoding.allCases)
    func mutations(_ encoding: BatchEncoding) {
        var (random, seed) = seeded("damaged payloads in \(encoding)")
        func decode(_ payload: [UInt8], _ stream: SensorStream, _ limits: PayloadLimits) -> Batch? {
            try? BatchEncoding.decode(
                Data(payload), contentType: encoding.contentType, stream: stream, limits: limits)
        }
        let limits = PayloadLimits(bytes: 1 << 16, samples: 100)
        var taken = 0
        for _ in 0..<20_000 {
            let valid = Batch.random(using: &random)
            let stream = valid.samples.stream
            let damaged = Self.damage(encoding.encode(valid), using: &random)
            guard let batch = decode(damaged, stream, limits) else { continue }
            taken += 1
            let again = decode(encoding.encode(batch), stream, limits)
            guard let again, again == batch else {
                Issue.record("seed \(seed): \(String(decoding: damaged, as: UTF8.self).debugDescription)")
                return
            }
        }
        // Else the test would show nothing of what is taken.
        #expect(taken > 500, "seed \(seed)")
    }

    private static let fragments = [
        "null", "NaN", "-", "1e999", "1e-400", "9223372036854775807", "-9223372036854775808", "[", "]", "{", "}", ",",
        ":",
        "\"", "\\", "\\u0000", "\\ud800", "true", "0", "1.5", "\"live\":false,", "\"t\":1,", "\"dt\":[", "\"seq\":0,",
        "\u{0}",
    ].map { Array($0.utf8) }

    private static func damage(_ payload: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
        var bytes = payload
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let at = Int.random(in: 0..<max(1, bytes.count), using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where !bytes.isEmpty: bytes[at] = UInt8.random(in: .min ... .max, using: &random)
            case 1 where !bytes.isEmpty: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 2: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...8, using: &random)))
            case 3: bytes.insert(contentsOf: fragments.randomElement(using: &random) ?? [], at: min(at, bytes.count))
            case 4: bytes = Array(bytes.prefix(at))
            case 5 where !bytes.isEmpty: bytes[at] = UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &random)
            default:
                let from = Int.random(in: 0...at, using: &random)
                if at <= bytes.count { bytes.insert(contentsOf: bytes[from..<at].prefix(40), at: at) }
            }
        }
        return bytes
    }
}
