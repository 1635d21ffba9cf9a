import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Batch in CBOR")
struct BatchCBORTests {
    @Test("a single sample is a map with the keys of JSON and arrays of values")
    func single() {
        var block = SampleBlock(stream: .location)
        block.append(
            time: Timestamp(microseconds: 1_700_000_000_000_000),
            values: [52.5, 13.4, .nan, .nan, .nan, 0, .nan, 3, .nan])
        // {"v": 1, "epoch": "e1", "seq": 42, "live": false, "t": 1700000000000000,
        //  "lat": [52.5], "lon": [13.4], "speed": [0.0], "fix": [3]}
        #expect(
            hex(BatchCBOR.encode(Batch(position: BatchPosition(epoch: epoch, seq: 42), isLive: false, samples: block)))
                == unspaced(
                    "a9 6176 01 6565706f6368 626531 63736571 182a 646c697665 f4 6174 1b00060a24181e4000"
                        + " 636c6174 81f95290 636c6f6e 81fb402acccccccccccd 657370656564 81f90000 63666978 8103"))
    }

    @Test(
        "decimal fractions are encoded as packed series, other numbers as typed arrays, and equal values as one value")
    func forms() {
        let samples = SampleBlock(
            stream: .accelerometer, times: [100, 110, 130],
            columns: [[0.5, -0.25, 3], [1.0 / 3, 0.1, 7], [-1, -1, -1]])
        // {"v": 1, "t": 100, "dt": series(10, 20), "x": series(50, -25, 300 by 100), "y": 86(h'…'), "z": -1.0}
        //
        // dt: 0 decimals; order 0, parameter 4; 2 numbers; zigzag 20 and 40: 10 0100, 110 1000.
        // x: 2 decimals; order 0, parameter 7; 3 numbers; zigzag 100, 49, 600: 0 1100100, 0 0110001, 11110 1011000.
        #expect(
            hex(BatchCBOR.encode(Batch(position: nil, samples: samples)))
                == unspaced(
                    "a6 6176 01 6174 1864 626474 45 00 04 02 9340 6178 47 02 07 03 6431f580"
                        + " 6179 d856 5818 555555555555d53f 9a9999999999b93f 0000000000001c40 617a f9bc00"))
    }

    @Test("a packed series uses the order with the smallest differences")
    func orders() {
        func payload(_ x: [Double]) -> String {
            let columns = [x, x, x].map { $0 }
            let times = x.indices.map { Int64($0) * 10 }
            let block = SampleBlock(stream: .accelerometer, times: times, columns: columns)
            return hex(BatchCBOR.encode(Batch(position: nil, samples: block)))
        }
        // A linear series: 1 decimal, order 2; 10 numbers; 1000 and the increment 7; eight 0 bits.
        #expect(payload((0..<10).map { Double(1000 + 7 * $0) / 10 }).contains(unspaced("47 01 80 0a d00f 0e 00")))
        // A parabola: order 3, and the first three differences are 0, 1 and 2.
        #expect(payload((0..<10).map { Double($0 * $0) }).contains(unspaced("47 00 c0 0a 00 02 04 00")))
        // One value of 2⁴⁰ among zeros: twenty 0 bits, the escape of sixteen 1 bits, 64 bits, and 0 bits again.
        let outlier = (0..<40).map { $0 == 20 ? 0x1p40 : 0 }
        #expect(payload(outlier).contains(unspaced("52 000028 00000 ffff 0000020000000000 00000")))
    }

    @Test("a map of 23 keys that is published late a map of 24 keys with a two-byte head")
    func manyKeys() throws {
        var block = SampleBlock(stream: .deviceMotion)
        for time in [1, 2] {
            let values = SensorStream.deviceMotion.columns.indices.map { Double($0) + Double(time) / 8 }
            block.append(time: Timestamp(microseconds: Int64(time)), values: values.dropLast(2) + [Double(time), 2])
        }
        let position = BatchPosition(epoch: epoch, seq: 1)
        let body = BatchCBOR.encode(Batch(position: nil, samples: block))
        let payload = BatchEncoding.payload(of: body, at: position, isLive: true)
        let late = BatchEncoding.payload(of: body, at: position, isLive: false)
        #expect(hex(payload).hasPrefix("b7"))
        #expect(hex(late).hasPrefix("b818"))
        #expect(try BatchCBOR.decode(Data(late), stream: .deviceMotion).samples == block)
    }

    @Test("the encoding is detected by the content type, or by the first byte if the content type is unknown")
    func detection() {
        let (json, cbor) = (BatchJSON.encode(batch(times: [1], x: [1])), BatchCBOR.encode(batch(times: [1], x: [1])))
        #expect(BatchEncoding(of: json) == .json)
        #expect(BatchEncoding(of: cbor) == .cbor)
        #expect(BatchEncoding(of: []) == .json)
        #expect(BatchEncoding(of: cbor, contentType: "application/json") == .json)
        #expect(BatchEncoding(of: json, contentType: "application/cbor") == .cbor)
        #expect(BatchEncoding(of: cbor, contentType: "text/plain") == .cbor)
    }
}

private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}

private func unspaced(_ text: String) -> String { text.filter { $0 != " " } }
