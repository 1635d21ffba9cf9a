import Foundation
import LockstepModel
import LockstepWire

/// Speed of encoding and decoding batches, compared with copying their columns.
struct CodecBenchmark {
    private let batches: [Batch]
    private let samples: Int
    /// How often a round processes all batches.
    private let passes = 5
    private let rounds: Int

    init(batches: WalkBatches, rounds: Int) {
        self.rounds = rounds
        self.batches = batches.still + batches.moving
        samples = self.batches.reduce(0) { $0 + $1.samples.count }
    }

    func run() throws -> [Comparison] {
        var contenders: [Contender] = []
        for encoding in BatchEncoding.allCases {
            let payloads = batches.map { Data(encoding.encode($0)) }
            contenders.append(Contender(name: "encode \(encoding)") { try rate { encode(encoding) } })
            contenders.append(Contender(name: "decode \(encoding)") { try rate { try decode(payloads) } })
        }
        contenders.append(Contender(name: "memcpy") { try rate(copyColumns) })
        return try compare("codec", [Metric(name: "speed", unit: "samples/s")], rounds: rounds, contenders)
    }

    /// Returns the speed in samples per second.
    private func rate(_ work: () throws -> Int) throws -> [Double] {
        var seen = 0
        let elapsed = try ContinuousClock().measure { seen = try work() }
        precondition(seen > 0, "the compiler must not remove the work")
        return [Double(samples * passes) / (elapsed / .seconds(1))]
    }

    private func encode(_ encoding: BatchEncoding) -> Int {
        var bytes = 0
        for _ in 0..<passes { for batch in batches { bytes += encoding.encode(batch).count } }
        return bytes
    }

    private func decode(_ payloads: [Data]) throws -> Int {
        var count = 0
        for _ in 0..<passes {
            for payload in payloads { count += try BatchEncoding.decode(payload, stream: .accelerometer).samples.count }
        }
        return count
    }

    /// Copies times and columns into preallocated memory.
    private func copyColumns() -> Int {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * 8 * 100, alignment: 8)
        defer { copy.deallocate() }
        var seen = 0
        for _ in 0..<passes {
            for batch in batches {
                var offset = 0
                func take(_ bytes: UnsafeRawBufferPointer) {
                    UnsafeMutableRawBufferPointer(rebasing: copy[offset...]).copyMemory(from: bytes)
                    offset += bytes.count
                }
                batch.samples.times.withUnsafeBytes(take)
                for column in batch.samples.columns { column.withUnsafeBytes(take) }
                seen += Int(copy[offset - 1]) + 1
            }
        }
        return seen
    }
}
