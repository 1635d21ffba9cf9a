import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Rejection of a batch in CBOR")
struct CBORRejectionTests {
    /// Returns an accelerometer sample in CBOR. `x`, `y` and the further members `more` are in hexadecimal, and `count`
    /// is the number of members.
    private static func payload(x: String = "8101", y: String = "8101", more: String = "", count: Int = 4) -> Data {
        bytes("a\(count) 6174 01 6178 \(x) 6179 \(y) 617a 8101 \(more)")
    }

    @Test("null is accepted for optional members")
    func nulls() {
        for name in ["6176", "63736571", "6565706f6368", "646c697665"] {
            #expect(rejection(Self.payload(more: name + "f6", count: 5), in: .cbor) == nil)
        }
    }

    @Test(
        "malformed and unsupported encodings are rejected",
        arguments: [
            ("", "invalid or unsupported CBOR: the payload ends within an item, at byte 0"),
            ("a1", "invalid or unsupported CBOR: a length beyond the end of the payload, at byte 0"),
            ("a1 6174 1b00", "invalid or unsupported CBOR: the payload ends within an item, at byte 4"),
            ("a1 6174 1801", "invalid or unsupported CBOR: a head that is not in the shortest form, at byte 3"),
            ("a1 6174 190001", "invalid or unsupported CBOR: a head that is not in the shortest form, at byte 3"),
            (
                "a1 6174 1bffffffffffffffff",
                "invalid or unsupported CBOR: an integer outside the signed 64-bit range, at byte 3"
            ),
            (
                "bf 6174 01 ff",
                "invalid or unsupported CBOR: an indefinite length or reserved additional information, at byte 0"
            ),
            (
                "a1 6174 f7",
                "invalid or unsupported CBOR: a simple value other than true, false or null, at byte 3"
            ),
            (
                "a1 6174 1c",
                "invalid or unsupported CBOR: an indefinite length or reserved additional information, at byte 3"
            ),
            ("a1 62c328 01", "invalid or unsupported CBOR: a text string that is not valid UTF-8, at byte 1"),
            ("a1 6178 9bffffffffffffff", "invalid or unsupported CBOR: the payload ends within an item, at byte 4"),
            (
                "a1 6178 9b7fffffffffffffff",
                "invalid or unsupported CBOR: a length beyond the end of the payload, at byte 3"
            ),
            ("81 01", "the payload is not a map"), ("a1 01 01", "a key is not a string"),
            ("a2 6174 01 6174 02", "the key 't' occurs twice"), ("a0 00", "unexpected data after the map, at byte 1"),
            ("a1 6176 02", "payload version 2 is newer than this program supports (1): upgrade this program"),
            ("a1 6176 00", "'v' is 0: versions start at 1"), ("a1 6176 6131", "'v' is not a whole number"),
            ("a1 65 65706f6368 626531", "only one of 'epoch' and 'seq' is present: send both or neither"),
            ("a1 65 65706f6368 01", "'epoch' is not a string"), ("a1 64 6c697665 00", "'live' is not true or false"),
            ("a0", "'x' is missing"),
        ])
    func malformed(_ payload: String, _ reason: String) {
        #expect(rejection(bytes(payload), in: .cbor)?.description == reason)
    }

    @Test(
        "invalid columns are rejected",
        arguments: [
            ("80", "the batch has no samples"),
            ("8201f6", "'x' contains null"), ("81f97e00", "'x' contains a value that is not finite"),
            ("8161 31", "'x' contains a value that is not a number"), ("f6", "'x' contains null"),
            ("820102", "'y' has 1 value, but another column has 2"),
            ("81 81 01", "'x' contains a value that is not a number"),
            ("d840 4101", "'x' has an unsupported tag"),
            ("d856 01", "'x' has an unsupported tag"),
            ("d856 4400000000", "'x' has 4 bytes, which is not a multiple of 8"),
            ("d855 440000807f", "'x' contains a value that is not finite"),
            ("40", "invalid packed series: too short"),
            ("43 100000", "invalid packed series: decimals or parameter out of range"),
            ("43 002901", "invalid packed series: decimals or parameter out of range"),
            ("44 00000900", "invalid packed series: fewer numbers than declared"),
            ("44 00400002", "invalid packed series: fewer numbers than declared"),
            ("45 00400182 00", wrongLength),
            ("45 0040010202", wrongLength),
            ("44 00000101", wrongLength),
            ("45 0000010000", wrongLength),
            ("4d 000001ffff 0000000000000000", wrongLength),
            ("4d 000001ffff ffffffffffffffff", wrongLength),
        ])
    func columns(_ x: String, _ reason: String) {
        #expect(rejection(Self.payload(x: x), in: .cbor)?.description == reason)
    }

    @Test(
        "invalid words and whole numbers are rejected",
        arguments: [
            ("a2 6174 01 65 76616c7565 81 62 7570", "'value' contains 'up'; valid words are", SensorStream.orientation),
            ("a2 6174 01 65 76616c7565 81 01", "'value' contains a value that is not a string", .orientation),
            ("a2 6174 01 65 76616c7565 44 00400102", "'value' contains a value that is not a string", .orientation),
            ("a3 6174 01 65 7374617274 8101 65 7374657073 81 f93800", "'steps' contains 0.5, which is not", .steps),
            ("a3 6174 01 65 7374617274 8101 65 7374657073 44 01400102", "'steps' contains 0.1, which is not", .steps),
        ])
    func kinds(_ payload: String, _ reason: String, _ stream: SensorStream) {
        let found = rejection(bytes(payload), in: .cbor, stream: stream)?.description ?? "accepted"
        #expect(found.hasPrefix(reason), "\(found)")
    }

    @Test(
        "invalid times are rejected",
        arguments: [
            ("", "'dt' is missing"), ("626474 00", "'dt' contains 0: times must strictly increase"),
            ("626474 820101", "'dt' has 2 intervals for 2 samples: expected 1"),
            ("626474 81f5", "'dt' contains an element that is not a whole number"),
            ("626474 f93c00", "'dt' is neither a whole number nor an array or series of whole numbers"),
            ("626474 44 01400102", "'dt' contains decimal fractions: use whole numbers of µs"),
            ("626474 1b7fffffffffffffff", "'dt' gives a time beyond the largest valid time"),
            ("626474 1b7ffffffffffffff0", "'dt' gives a time beyond the largest valid time"),
        ])
    func times(_ intervals: String, _ reason: String) {
        let count = intervals.isEmpty ? 4 : 5
        let payload = bytes("a\(count) 6174 01 6178 820101 6179 820101 617a 820101 \(intervals)")
        #expect(rejection(payload, in: .cbor)?.description == reason)
    }

    @Test("too many samples or bytes are rejected")
    func limits() {
        let whole = batch(times: (1...101).map { $0 * $0 }, x: (1...101).map { Double($0) })
        let payload = Data(BatchCBOR.encode(whole))
        let few = PayloadLimits(bytes: payload.count, samples: 100)
        #expect(
            rejection(payload, in: .cbor, limits: few)?.description == "the batch has 101 samples: the limit is 100")
        let small = PayloadLimits(bytes: payload.count - 1, samples: 101)
        #expect(
            rejection(payload, in: .cbor, limits: small)?.description
                == "the payload has \(payload.count) bytes: the limit is \(payload.count - 1)")
        #expect(rejection(payload, in: .cbor, limits: PayloadLimits(bytes: payload.count, samples: 101)) == nil)
    }

    @Test("truncated payloads and trailing bytes are rejected")
    func truncated() {
        let whole = BatchCBOR.encode(batch(times: [1, 2, 4, 9], x: [1.5, 2, 3, 1.0 / 3]))
        for count in 0..<whole.count {
            #expect(rejection(Data(whole.prefix(count)), in: .cbor) != nil, "\(count) bytes")
        }
        #expect(rejection(Data(whole + [0]), in: .cbor) != nil)
    }

    @Test("the error has the batch's position if it could be read")
    func position() {
        let payload = bytes("a3 65 65706f6368 626531 63736571 07 6174 01")
        #expect(rejection(payload, in: .cbor)?.position == BatchPosition(epoch: epoch, seq: 7))
    }

    @Test("unknown members are ignored, even if deeply nested")
    func unknownMembers() {
        let nested = String(repeating: "81", count: 100_000) + "00"
        let payload = Self.payload(more: "64 6d6f7265" + nested, count: 5)
        #expect(rejection(payload, in: .cbor) == nil)
    }
}

/// Returns the bytes of hexadecimal digits. Spaces are ignored.
private func bytes(_ hex: String) -> Data {
    let digits = hex.compactMap(\.hexDigitValue)
    return Data(stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
}

private let wrongLength = "invalid packed series: the number of bytes does not match the head, or a number is too large"
