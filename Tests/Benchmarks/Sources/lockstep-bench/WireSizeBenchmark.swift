import Foundation
import LockstepModel
import LockstepWire

/// Bytes a sample on the wire, in each encoding, and of a plain columnar CBOR of float32 for comparison.
struct WireSizeBenchmark {
    let batches: WalkBatches

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    struct Result {
        struct Row {
            let name: String
            let samples: Int
            /// Bytes a sample.
            let json, float32, cbor: Double
            var ratio: Double { cbor / float32 }
        }

        let rows: [Row]

        var text: String {
            let header = ["", "samples", "JSON", "CBOR float32", "CBOR", "ratio"]
            let lines =
                [header]
                + rows.map { row in
                    [row.name, "\(row.samples)"] + [row.json, row.float32, row.cbor, row.ratio].map { rounded($0) }
                }
            let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
            return "wire-size, bytes a sample\n"
                + lines.map { line in
                    line.indices.map { column in
                        let padding = String(repeating: " ", count: widths[column] - line[column].count)
                        return column == 0 ? "  " + line[column] + padding : padding + line[column]
                    }.joined(separator: "  ") + "\n"
                }.joined()
        }

        var json: String {
            let objects = rows.map { row in
                "{\"name\":\"\(row.name)\",\"samples\":\(row.samples),\"json\":\(row.json),"
                    + "\"cbor_float32\":\(row.float32),\"cbor\":\(row.cbor),\"ratio\":\(row.ratio)}"
            }
            return
                "{\"benchmark\":\"wire-size\",\"unit\":\"bytes/sample\",\"rows\":[\(objects.joined(separator: ","))]}\n"
        }

        private func rounded(_ number: Double) -> String { String(format: "%.2f", number) }
    }

    func run() throws -> Result {
        Result(
            rows: try [
                row("still", batches.still), row("moving", batches.moving),
                row("all", batches.still + batches.moving),
            ])
    }

    private func row(_ name: String, _ batches: [Batch]) throws -> Result.Row {
        let samples = batches.reduce(0) { $0 + $1.samples.count }
        func size(_ encode: (Batch) throws -> Int) throws -> Double {
            Double(try batches.reduce(0) { $0 + (try encode($1)) }) / Double(samples)
        }
        return Result.Row(
            name: name, samples: samples, json: try size { try verified($0, .json) },
            float32: try size { float32Size($0) }, cbor: try size { try verified($0, .cbor) })
    }

    /// The size of a payload out of which the same batch is read, to the last bit of every value.
    private func verified(_ batch: Batch, _ encoding: BatchEncoding) throws -> Int {
        let payload = encoding.encode(batch)
        let back = try BatchEncoding.decode(Data(payload), stream: batch.samples.stream)
        guard back == batch else { throw Failure(description: "a batch is not read as it was written in \(encoding)") }
        return payload.count
    }

    /// Values of 24 binary digits are no decimal fractions: in a column of them each value takes four bytes.
    private func float32Size(_ batch: Batch) -> Int {
        let columns = batch.samples.columns.map { column in column.map { Double(Float($0)) } }
        let samples = SampleBlock(stream: batch.samples.stream, times: batch.samples.times, columns: columns)
        return BatchCBOR.encode(Batch(position: batch.position, samples: samples)).count
    }
}
