import Foundation
import LockstepModel
import LockstepWire

/// Bytes a sample on the wire, in each encoding, and of a plain columnar CBOR of float32 for comparison.
struct WireSizeBenchmark {
    let batches: WalkBatches

    /// One comparison each of rest, of walking, and of both.
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

    /// The size of a payload out of which the same batch is read, to the last bit of every value.
    private func verified(_ batch: Batch, _ encoding: BatchEncoding) throws -> Int {
        let payload = encoding.encode(batch)
        let back = try BatchEncoding.decode(Data(payload), stream: batch.samples.stream)
        guard back == batch else { throw Failure("a batch is not read as it was written in \(encoding)") }
        return payload.count
    }

    /// Values of 24 binary digits are no decimal fractions: in a column of them each value takes four bytes.
    private func float32Size(_ batch: Batch) -> Int {
        let columns = batch.samples.columns.map { column in column.map { Double(Float($0)) } }
        let samples = SampleBlock(stream: batch.samples.stream, times: batch.samples.times, columns: columns)
        return BatchCBOR.encode(Batch(position: batch.position, samples: samples)).count
    }
}
