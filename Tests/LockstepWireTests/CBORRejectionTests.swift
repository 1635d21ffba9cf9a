import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("A batch in CBOR is rejected")
struct CBORRejectionTests {
    /// One sample of the accelerometer, with `x` in hexadecimal, and more members.
    private static func payload(x: String = "8101", y: String = "8101", more: String = "", count: Int = 4) -> Data {
        bytes("a\(count) 6174 01 6178 \(x) 6179 \(y) 617a 8101 \(more)")
    }

    @Test("but not where what may be left out is null, as in JSON")
    func nulls() {
        for name in ["6176", "63736571", "6565706f6368", "646c697665"] {
            #expect(rejection(Self.payload(more: name + "f6", count: 5), in: .cbor) == nil)
        }
    }

    @Test(
        "where it is not well-formed, or longer than need be",
        arguments: [
            ("", "not the CBOR that is taken: the end in the middle of an item, at byte 0"),
            ("a1", "not the CBOR that is taken: a length beyond the end, at byte 0"),
            ("a1 6174 1b00", "not the CBOR that is taken: the end in the middle of an item, at byte 4"),
            ("a1 6174 1801", "not the CBOR that is taken: a head that is longer than need be, at byte 3"),
            ("a1 6174 190001", "not the CBOR that is taken: a head that is longer than need be, at byte 3"),
            ("a1 6174 1bffffffffffffffff", "not the CBOR that is taken: an integer beyond 64 bits, at byte 3"),
            ("bf 6174 01 ff", "not the CBOR that is taken: an indefinite length, at byte 0"),
            (
                "a1 6174 f7",
                "not the CBOR that is taken: a simple value that is neither true, false nor null, at byte 3"
            ),
            ("a1 6174 1c", "not the CBOR that is taken: an indefinite length, at byte 3"),
            ("a1 62c328 01", "not the CBOR that is taken: a text that is not UTF-8, at byte 1"),
            ("a1 6178 9bffffffffffffff", "not the CBOR that is taken: the end in the middle of an item, at byte 4"),
            ("a1 6178 9b7fffffffffffffff", "not the CBOR that is taken: a length beyond the end, at byte 3"),
            ("81 01", "the payload is not a map"), ("a1 01 01", "a key is not a text"),
            ("a2 6174 01 6174 02", "'t' is there twice"), ("a0 00", "something follows the map, at byte 1"),
            ("a1 6176 02", "payload version 2 is newer than this program knows (1): upgrade it"),
            ("a1 6176 00", "'v' is 0: versions start at 1"), ("a1 6176 6131", "'v' is not a whole number"),
            ("a1 65 65706f6368 626531", "'epoch' and 'seq' go together: send both or neither"),
            ("a1 65 65706f6368 01", "'epoch' is not a text"), ("a1 64 6c697665 00", "'live' is not true or false"),
            ("a0", "'x' is missing"),
        ])
    func malformed(_ payload: String, _ reason: String) {
        #expect(rejection(bytes(payload), in: .cbor)?.description == reason)
    }

    @Test(
        "where a column is not one",
        arguments: [
            ("80", "there is no sample in it"), ("01", "'y' has 1 values where another column has 2"),
            ("8201f6", "'x' has a null"), ("81f97e00", "'x' has a value that is not finite"),
            ("8161 31", "'x' has something that is not a number"), ("f6", "'x' has a null"),
            ("820102", "'y' has 1 values where another column has 2"),
            ("81 81 01", "'x' has something that is not a number"),
            ("d840 4101", "'x' has a tag that is not known there"),
            ("d856 01", "'x' has a tag that is not known there"),
            ("d856 4400000000", "'x' has 4 bytes for numbers of 8"),
            ("d855 440000807f", "'x' has a value that is not finite"),
            ("40", "not a packed series: it is too short"),
            ("43 100000", "not a packed series: its decimals or its parameter are too many"),
            ("43 002901", "not a packed series: its decimals or its parameter are too many"),
            ("44 00000900", "not a packed series: it has not as many numbers as it says"),
            ("44 00400002", "not a packed series: it has not as many numbers as it says"),
            ("45 00400182 00", "not a packed series: its numbers are not what its head says, or too large"),
            ("45 0040010202", "not a packed series: its numbers are not what its head says, or too large"),
            ("44 00000101", "not a packed series: its numbers are not what its head says, or too large"),
            ("45 0000010000", "not a packed series: its numbers are not what its head says, or too large"),
            (
                "4d 000001ffff 0000000000000000",
                "not a packed series: its numbers are not what its head says, or too large"
            ),
            (
                "4d 000001ffff ffffffffffffffff",
                "not a packed series: its numbers are not what its head says, or too large"
            ),
        ])
    func columns(_ x: String, _ reason: String) {
        // Where `x` is one value for all, `y` says how many there are.
        let payload =
            x == "01" ? Self.payload(x: "820101", y: "8101") : Self.payload(x: x)
        #expect(rejection(payload, in: .cbor)?.description == reason)
    }

    @Test(
        "where its words or whole numbers are none",
        arguments: [
            ("a2 6174 01 65 76616c7565 81 62 7570", "'value' has 'up': known are", SensorStream.orientation),
            ("a2 6174 01 65 76616c7565 81 01", "'value' has something that is not a text", .orientation),
            ("a2 6174 01 65 76616c7565 44 00400102", "'value' has something that is not a text", .orientation),
            ("a3 6174 01 65 7374617274 8101 65 7374657073 81 f93800", "'steps' has 0.5, which is not", .steps),
            ("a3 6174 01 65 7374617274 8101 65 7374657073 44 01400102", "'steps' has 0.1, which is not", .steps),
        ])
    func kinds(_ payload: String, _ reason: String, _ stream: SensorStream) {
        let found = rejection(bytes(payload), in: .cbor, stream: stream)?.description ?? "taken"
        #expect(found.hasPrefix(reason), "\(found)")
    }

    @Test(
        "for its times",
        arguments: [
            ("", "'dt' is missing"), ("626474 00", "'dt' has 0: times must strictly increase"),
            ("626474 820101", "'dt' has 2 steps for 2 samples: it takes 1"),
            ("626474 81f5", "'dt' has something that is not a whole number"),
            ("626474 f93c00", "'dt' is neither a whole number nor many"),
            ("626474 44 01400102", "'dt' has decimals"),
            ("626474 1b7fffffffffffffff", "'dt' leads beyond the end of time"),
            ("626474 1b7ffffffffffffff0", "'t' is 1: it counts µs since 1970"),
        ])
    func times(_ step: String, _ reason: String) {
        let count = step.isEmpty ? 4 : 5
        let payload = bytes("a\(count) 6174 01 6178 820101 6179 820101 617a 820101 \(step)")
        #expect(rejection(payload, in: .cbor)?.description == reason)
    }

    @Test("where it has too many samples or bytes")
    func limits() {
        let whole = batch(times: (1...101).map { $0 * $0 }, x: (1...101).map { Double($0) })
        let payload = Data(BatchCBOR.encode(whole))
        let few = PayloadLimits(bytes: payload.count, samples: 100)
        #expect(rejection(payload, in: .cbor, limits: few)?.description == "101 samples: a batch has at most 100")
        let small = PayloadLimits(bytes: payload.count - 1, samples: 101)
        #expect(
            rejection(payload, in: .cbor, limits: small)?.description
                == "\(payload.count) bytes: a payload has at most \(payload.count - 1)")
        #expect(rejection(payload, in: .cbor, limits: PayloadLimits(bytes: payload.count, samples: 101)) == nil)
    }

    @Test("at every length to which it may be cut, and where anything follows it")
    func truncated() {
        let whole = BatchCBOR.encode(batch(times: [1, 2, 4, 9], x: [1.5, 2, 3, 1.0 / 3]))
        for count in 0..<whole.count {
            #expect(rejection(Data(whole.prefix(count)), in: .cbor) != nil, "\(count) bytes")
        }
        #expect(rejection(Data(whole + [0]), in: .cbor) != nil)
    }

    @Test("and its number is told where it could be read")
    func position() {
        let payload = bytes("a3 65 65706f6368 626531 63736571 07 6174 01")
        #expect(rejection(payload, in: .cbor)?.position == BatchPosition(epoch: epoch, seq: 7))
    }

    @Test("but taken with what is not known in it, however deeply nested")
    func extras() {
        let nested = String(repeating: "81", count: 100_000) + "00"
        let payload = Self.payload(more: "64 6d6f7265" + nested, count: 5)
        #expect(rejection(payload, in: .cbor) == nil)
    }
}

/// Bytes from hexadecimal digits; spaces do not count.
private func bytes(_ hex: String) -> Data {
    let digits = hex.compactMap(\.hexDigitValue)
    return Data(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
}
