import Foundation
import LockstepModel
import LockstepWire

/// How fast batches are encoded and decoded, beside copying their columns.
struct CodecBenchmark {
    private let batches: [Batch]
    private let samples: Int
    /// How often all batches are gone through in a round.
    private let passes = 5

    init(batches: WalkBatches) {
        self.batches = batches.still + batches.moving
        samples = self.batches.reduce(0) { $0 + $1.samples.count }
    }

    struct Result {
        let sides: [Comparison.Side]

        /// What the others are held against.
        private var copy: Comparison.Side { sides[0] }

        var text: String {
            let width = sides.map(\.name.count).max() ?? 0
            return "codec, samples a second\n"
                + sides.map { side in
                    let name = side.name + String(repeating: " ", count: width - side.name.count)
                    let spread = "\(millions(side.rates.min() ?? 0)) to \(millions(side.rates.max() ?? 0))"
                    return "  \(name)  \(millions(side.median)) million  (\(spread), \(side.rates.count) rounds)  "
                        + "\(String(format: "%.4f", side.median / copy.median)) of memcpy\n"
                }.joined()
        }

        var json: String {
            let objects = sides.map { side in
                let rates = side.rates.map { "\(Int64($0.rounded()))" }.joined(separator: ",")
                return "{\"name\":\"\(side.name)\",\"median\":\(Int64(side.median.rounded())),\"rates\":[\(rates)],"
                    + "\"ratio\":\(side.median / copy.median)}"
            }
            return "{\"benchmark\":\"codec\",\"unit\":\"samples/s\",\"sides\":[\(objects.joined(separator: ","))]}\n"
        }

        private func millions(_ rate: Double) -> String { String(format: "%.2f", rate / 1e6) }
    }

    /// Runs all in turn, so that whatever else the machine does falls on each.
    func run(rounds: Int) throws -> Result {
        let payloads = BatchEncoding.allCases.map { encoding in batches.map { Data(encoding.encode($0)) } }
        var ways: [(name: String, run: () throws -> Int)] = [("memcpy", copyColumns)]
        for (encoding, payloads) in zip(BatchEncoding.allCases, payloads) {
            ways.append(("encode \(encoding)", { encode(encoding) }))
            ways.append(("decode \(encoding)", { try decode(payloads) }))
        }
        var rates: [[Double]] = ways.map { _ in [] }
        for round in 0...rounds {
            for (index, way) in ways.enumerated() {
                var seen = 0
                let elapsed = try ContinuousClock().measure { seen = try way.run() }
                precondition(seen > 0, "the work was done")
                // The first round is to warm up.
                if round > 0 { rates[index].append(Double(samples * passes) / (elapsed / .seconds(1))) }
            }
        }
        return Result(sides: zip(ways, rates).map { Comparison.Side(name: $0.name, rates: $1) })
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

    /// Times and columns into memory that is there already.
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
