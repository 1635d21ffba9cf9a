import LockstepGateway
import Testing

@Suite("Sparkplug B payloads")
struct SparkplugPayloadTests {
    @Test(
        "each data type reads its numbers, however the sign was extended",
        arguments: [
            (1, UInt64(0xff), -1.0), (1, 0xffff_ffff, -1), (1, 127, 127), (2, 0x8000, -32768), (2, 0xffff_8000, -32768),
            (3, 0xffff_ffff, -1), (3, UInt64.max, -1), (4, UInt64.max, -1), (4, 1 << 40, 1_099_511_627_776),
            (5, 0xff, 255), (6, 0xffff, 65535), (7, 0xffff_ffff, 4_294_967_295),
            (8, 1 << 63, 9_223_372_036_854_775_808),
            (13, 1_795_575_600_000, 1_795_575_600_000),
        ])
    func integers(_ kind: Int, _ bits: UInt64, _ expected: Double) {
        #expect(SparkplugKind(rawValue: UInt32(kind)).value(of: .whole(bits)) == .number(expected))
    }

    @Test("booleans, fractions and texts are read; other types and values of another type are not")
    func others() {
        #expect(SparkplugKind.boolean.value(of: .truth(true)) == .number(1))
        #expect(SparkplugKind(rawValue: 9).value(of: .real(0.5)) == .number(0.5))
        #expect(SparkplugKind.double.value(of: .real(0.1)) == .number(0.1))
        for kind in [12, 14, 15] as [UInt32] {
            #expect(SparkplugKind(rawValue: kind).value(of: .text("a")) == .text("a"))
        }
        for kind in [0, 16, 17, 18, 19, 20, 22, 34, 99] as [UInt32] {
            #expect(!SparkplugKind(rawValue: kind).isReadable)
            for raw in [.whole(1), .real(1), .truth(true), .text("a"), .opaque] as [SparkplugRawValue] {
                #expect(SparkplugKind(rawValue: kind).value(of: raw) == nil)
            }
        }
        #expect(SparkplugKind.double.value(of: .whole(1)) == nil)
        #expect(SparkplugKind.int64.value(of: .text("1")) == nil)
        #expect("\(SparkplugKind(rawValue: 19)) \(SparkplugKind(rawValue: 99))" == "Template type 99")
    }

    /// Bytes by hand from the field numbers of the specification.
    @Test("fields have the numbers of the specification")
    func fields() throws {
        let metric: [UInt8] =
            [0x0a, 0x01, 0x61, 0x10, 0x05, 0x18, 0x07, 0x20, 0x03, 0x28, 0x01]
            + [0x4a, 0x02, 0x0a, 0x00]  // properties, which are skipped
            + [0x50, 0xff, 0xff, 0xff, 0xff, 0x0f]
        let bytes: [UInt8] = [0x08, 0x09, 0x12, UInt8(metric.count)] + metric + [0x18, 0xff, 0x01, 0x22, 0x01, 0x78]
        let payload = try SparkplugPayload(decoding: bytes)
        #expect(payload.time == 9)
        #expect(payload.number == 255)
        #expect(
            payload.metrics == [
                SparkplugMetric(
                    name: "a", alias: 5, time: 7, kind: SparkplugKind(rawValue: 3), isHistorical: true,
                    value: .whole(0xffff_ffff))
            ])
        // A value beside is_null does not count, and neither do data sets and templates.
        let null = try SparkplugPayload(decoding: [0x12, 0x06, 0x10, 0x05, 0x38, 0x01, 0x50, 0x09])
        #expect(null.metrics == [SparkplugMetric(alias: 5, value: nil)])
        let template = try SparkplugPayload(decoding: [0x12, 0x05, 0x10, 0x05, 0x92, 0x01, 0x00])
        #expect(template.metrics == [SparkplugMetric(alias: 5, value: .opaque)])
    }

    @Test("a time beyond the range is the largest one, which is no time of a sample")
    func hugeTimes() throws {
        let huge: [UInt8] = [UInt8](repeating: 0xff, count: 9) + [0x01]
        let metric = [0x0a, 0x01, 0x61, 0x18] + huge
        let payload = try SparkplugPayload(decoding: [0x08] + huge + [0x12, UInt8(metric.count)] + metric)
        #expect(payload.time == .max)
        #expect(payload.metrics.map(\.time) == [.max])
    }

    @Test("an encoded payload is decoded as it was")
    func roundTrip() throws {
        let payload = SparkplugPayload(
            time: 1_795_575_600_000,
            metrics: [
                .deathNumber(3, time: 1), .rebirth(true, time: 2),
                SparkplugMetric(alias: 9, time: 3, isHistorical: true, value: .real(0.1)),
                SparkplugMetric(alias: 10, time: 3, value: nil),
                SparkplugMetric(name: "é", kind: .string, value: .text("b")),
                SparkplugMetric(name: "i", kind: SparkplugKind(rawValue: 1), value: .whole(0xff)),
            ], number: 255)
        #expect(try SparkplugPayload(decoding: payload.encoded()) == payload)
        #expect(payload.deathNumber == 3)
        #expect(payload.requestsRebirth)
    }

    @Test(
        "damaged payloads, too many metrics and numbers above 255 are refused",
        arguments: [
            [0xff], [0x12, 0x05], [0x12, 0x01, 0x0a], [0x0b], [0x18, 0x80, 0x02],
            [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            [UInt8](repeating: 0x12, count: 1) + [0x00] + [0x07],
        ] as [[UInt8]])
    func damaged(_ bytes: [UInt8]) {
        #expect(throws: SparkplugError.self) { try SparkplugPayload(decoding: bytes) }
    }

    @Test("a message with too many metrics is refused before it is decoded")
    func tooMany() throws {
        let many = [[UInt8]](repeating: [0x12, 0x00], count: SparkplugPayload.maxMetrics + 1).flatMap { $0 }
        #expect(throws: SparkplugError.self) { try SparkplugPayload(decoding: many) }
        #expect(try SparkplugPayload(decoding: Array(many.dropLast(2))).metrics.count == SparkplugPayload.maxMetrics)
    }

    @Test("topics are parsed, and others are not")
    func topics() throws {
        let node = try #require(SparkplugNode("plant/line 1"))
        let data = try #require(SparkplugTopic("spBv1.0/plant/DDATA/line 1/oven"))
        #expect(data == SparkplugTopic(.deviceData, node, device: "oven"))
        #expect(data.description == "spBv1.0/plant/DDATA/line 1/oven")
        #expect(SparkplugTopic("spBv1.0/plant/NBIRTH/line 1") == SparkplugTopic(.nodeBirth, node))
        for text in [
            "spBv1.0/plant/NBIRTH", "spBv1.0/plant/NBIRTH/n/d", "spBv1.0/plant/DDATA/n", "spBv1.0/plant/DDATA/n/",
            "spBv1.0//NDATA/n", "spBv1.0/STATE/host", "spAv1.0/plant/NDATA/n", "spBv1.0/plant/XDATA/n",
            "spBv1.0/plant/DDATA/n/d/e", "",
        ] { #expect(SparkplugTopic(text) == nil, "\(text)") }
        for text in ["a", "a/", "/b", "a/b/c", "a/+", "#/b"] { #expect(SparkplugNode(text) == nil, "\(text)") }
    }

    @Test("a compressed payload is refused with a reason that names the compression")
    func compressed() {
        let bytes = SparkplugPayload(time: 1, metrics: [], number: 0).encoded()
        let identifier = Array("SPBV1.0_COMPRESSED".utf8)
        let error = #expect(throws: SparkplugError.self) {
            try SparkplugPayload(decoding: bytes + [0x22, UInt8(identifier.count)] + identifier + [0x2a, 1, 0])
        }
        #expect(error?.description.contains("compress") == true)
        #expect(throws: Never.self) { try SparkplugPayload(decoding: bytes + [0x22, 1, 0x41]) }
    }
}
