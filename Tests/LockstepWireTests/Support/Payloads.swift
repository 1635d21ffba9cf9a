import FoundationEssentials
import LockstepModel
import LockstepWire

let epoch = Epoch(unchecked: "e1")

func data(_ text: String) -> Data { Data(text.utf8) }
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Returns a batch of a stream with three axes, where y is -x and z is 1.
func batch(
    times: [Int64], x: [Double], stream: SensorStream = .accelerometer, seq: Int64? = 42, isLive: Bool = true
) -> Batch {
    Batch(
        position: seq.map { BatchPosition(epoch: epoch, seq: $0) }, isLive: isLive,
        samples: SampleBlock(
            stream: stream, times: times, columns: [x, x.map { -$0 }, x.map { _ in 1 }]))
}

/// Decodes a payload of `stream` and returns the error, or nil if the payload is accepted.
func rejection(
    _ payload: Data, in encoding: BatchEncoding = .json, stream: SensorStream = .accelerometer,
    limits: PayloadLimits = PayloadLimits()
) -> PayloadError? {
    do throws(PayloadError) {
        _ = try BatchEncoding.decode(payload, contentType: encoding.contentType, stream: stream, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// Returns whether two batches are equal, including every bit of their values.
func areIdentical(_ left: Batch, _ right: Batch) -> Bool {
    left == right
        && zip(left.samples.columns, right.samples.columns).allSatisfy { pair in
            zip(pair.0, pair.1).allSatisfy { $0.bitPattern == $1.bitPattern || ($0.isNaN && $1.isNaN) }
        }
}
