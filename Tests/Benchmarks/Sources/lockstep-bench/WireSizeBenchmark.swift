import Foundation
import LockstepModel
import LockstepWire

/// Payload bytes per sample in each encoding, compared with columnar CBOR of float32 values.
struct WireSizeBenchmark {
    let batches: WalkBatches

    /// Returns a comparison each for batches at rest, in motion, and for both.
    func run() throws -> [Comparison] {
        try [("still", batches.still), ("moving", batches.moving), ("all", batches.still + batches.moving)].map {
            name, batches in
            let samples = batches.reduce(0) { $0 + $1.samples.count }
            func size(_ encode: (Batch) throws -> Int) throws -> [Double] {
                [Double(try batches.reduce(0) { $0 + (try encode($1)) }) / Double(samples)]
            }
            return Comparison(
                benchmark: "wire-size", metric: Metric(name: name, unit: "bytes/sample", digits: 2),
                sides: [
                    Comparison.Side(name: "JSON", values: try size { try verified($0, .json) }),
                    Comparison.Side(name: "CBOR", values: try size { try verified($0, .cbor) }),
                    Comparison.Side(name: "CBOR, float32", values: try size { float32Size($0) }),
                ])
        }
    }

    /// Returns the size of an encoded batch, after checking that it decodes to exactly the same batch.
    private func verified(_ batch: Batch, _ encoding: BatchEncoding) throws -> Int {
        let payload = encoding.encode(batch)
        let back = try BatchEncoding.decode(Data(payload), stream: batch.samples.stream)
        guard back == batch else { throw Failure("a batch changes when encoded in \(encoding) and decoded") }
        return payload.count
    }

    /// Returns the size of a batch in CBOR with four bytes per value. Values rounded to float32 are not short decimal
    /// fractions, so the encoder does not pack them.
    private func float32Size(_ batch: Batch) -> Int {
        let columns = batch.samples.columns.map { column in column.map { Double(Float($0)) } }
        let samples = SampleBlock(stream: batch.samples.stream, times: batch.samples.times, columns: columns)
        return BatchCBOR.encode(Batch(position: batch.position, samples: samples)).count
    }
}
