import LockstepModel
import LockstepTransfer

@testable import LockstepGateway

extension FuzzTarget {
    /// The translators of the gateway.
    static let gateway: [FuzzTarget] = [
        sparkplugPayload, sparkplugNodes, phyphox, packed,
        translator(
            OwnTracksAdapter(), "owntracks/alice/phone",
            [
                #"{"_type":"location","acc":5,"alt":154,"batt":53,"bs":2,"cog":271,"created_at":1795575590,"lat":52.03,"lon":-8.495,"p":101.25,"t":"u","tst":1795575580,"vac":3,"vel":54}"#,
                #"{"_type":"transition","wtst":1795000000,"lat":52.1,"lon":8.5,"tst":1795575000,"event":"leave"}"#,
                #"{"_type":"waypoints","waypoints":[{"_type":"waypoint","tst":1,"lat":1,"lon":2,"rad":3}]}"#,
                #"{"_type":"steps","tst":1795575600,"steps":1234,"from":1795500000,"to":1795575500}"#,
                #"{"_type":"lwt","tst":1795570000}"#,
                #"{"_type":"location","lat":"1","lon":"2e0","tst":"2026-11-25T03:00:00,5+01","batt":"9","acc":NaN}"#,
            ]),
        translator(
            OwnTracksAdapter(keys: encryptingKeys), "owntracks/alice/phone",
            [#"{"_type":"lwt","tst":1795570000}"#]),
        translator(
            SensorLoggerAdapter(), "sensor-logger",
            [
                #"{"messageId":7,"sessionId":"s","deviceId":"d","payload":[{"name":"accelerometer","time":1795575590000000000,"values":{"x":0,"y":1,"z":2}},{"name":"gravity","time":1795575590000000000,"values":{"x":0,"y":0,"z":9.8}},{"name":"location","time":1795575590000000000,"values":{"latitude":51.5,"longitude":-0.1,"bearing":9}}]}"#,
                #"{"deviceId":"d","payload":[{"name":"battery","time":1,"values":{"batteryLevel":0.8,"batteryState":"full"}},{"name":"barometer","time":1,"values":{"pressure":1013}}]}"#,
            ]),
        translator(
            SenMLAdapter(), "senml",
            [
                #"[{"bn":"a:","bt":1795575000,"n":"lat","u":"lat","v":51.5},{"n":"lon","u":"lon","v":-0.1},{"n":"pressure","u":"Pa","t":1,"bv":1,"v":101325}]"#,
                #"[{"n":"a/battery","u":"%EL","v":42},{"n":"a/x","vs":"w"},{"n":"a/y","vb":true,"s":1,"ut":2}]"#,
            ],
            also: [
                [
                    0x81, 0xa4, 0x00, 0x65, 0x61, 0x3a, 0x6c, 0x61, 0x74, 0x06, 0x01, 0x02, 0xc4, 0x82, 0x20, 0x01,
                    0x01, 0x63, 0x6c,
                    0x61, 0x74,
                ]
            ]),
        translator(
            JoinAdapter(), nil,
            [
                #"{"group":"phones","device":"d","epoch":"e","seq":7,"sent":1795575600000,"state":"active","reason":"start","streams":[{"stream":"motion/accelerometer","samples":[[1795575599000000,0.1,0,-1]]},{"stream":"location","samples":[[1795575599000000,1,2,null,5]]},{"stream":"orientation","samples":[[1795575599000001,"faceUp"]]}]}"#
            ]),
        translator(
            OwnTracksAdapter(), nil,
            [
                #"{"_type":"location","lat":52.03,"lon":-8.495,"tst":1795575580,"tid":"al","topic":"owntracks/a/b"}"#,
                #"{"_type":"card","name":"Alice","face":"iVBORw0K","topic":"owntracks/a/b"}"#,
            ]),
        translator(
            GenericJSONAdapter(jsonRules), "t",
            [
                #"{"items":[{"at":"2026-11-25T03:00:00Z","p":[1013]},{"at":"2026-11-25T03:00:01Z","p":[1014]}]}"#
            ]),
    ]

    private static let sparkplugMetrics = [
        SparkplugMetric(name: "location/lat", alias: 1, time: 1_795_575_599_000, kind: .double, value: .real(50)),
        SparkplugMetric(name: "location/lon", alias: 2, time: 1_795_575_599_000, kind: .double, value: .real(8)),
        SparkplugMetric(name: "battery/state", alias: 3, time: 1_795_575_599_000, kind: .string, value: .text("full")),
        SparkplugMetric(name: "battery/level", alias: 4, kind: .double, isHistorical: true, value: .real(0.5)),
        SparkplugMetric(name: "steps/steps", alias: 5, kind: SparkplugKind(rawValue: 2), value: .whole(7)),
        .deathNumber(7),
    ]

    /// Compressed bodies: never more than the limit.
    private static let packed = FuzzTarget(
        name: "gateway: gzip",
        corpus: [
            [
                0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0,
                0,
            ], [0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 6, 0x2c, 2, 0x15],
        ]
    ) { bytes in
        guard let text = try? Inflate.unpack(bytes, limit: 1000) else { return .rejected }
        return text.count <= 1000 ? .accepted : .wrong("\(text.count) bytes")
    }

    /// The payload of Sparkplug: what is accepted must be equal after encoding and decoding it.
    private static let sparkplugPayload = codec(
        "gateway: sparkplug payload",
        [
            SparkplugPayload(time: 1_795_575_600_000, metrics: sparkplugMetrics, number: 7),
            SparkplugPayload(metrics: []),
        ],
        encode: { $0.encoded() },
        decode: { data in
            // Only what Lockstep reads is encoded again, with the bits of its type, and no NaN is equal to itself.
            var payload = try SparkplugPayload(decoding: Array(data))
            for index in payload.metrics.indices {
                switch payload.metrics[index].value {
                case .opaque: payload.metrics[index].value = nil
                case .real(let number):
                    let short = Double(Float(number))
                    payload.metrics[index].value = short.isFinite ? .real(short) : nil
                case .whole(let bits): payload.metrics[index].value = .whole(bits & 0xffff_ffff)
                default: break
                }
            }
            return payload
        })

    /// The answers of a phone, each on a line.
    private static let phyphox = FuzzTarget(
        name: "gateway: phyphox",
        corpus: [
            [
                #"{"inputs":[{"source":"location","outputs":[{"lat":"a"},{"lon":"b"},{"v":"c"},{"t":"t"}]}]}"#,
                #"{"buffer":{"a":{"buffer":[5E1,51]},"b":{"buffer":[8,9]},"c":{"buffer":[-1,null]},"t":{"buffer":[1,2.5E0]}},"status":{"session":"s","measuring":true}}"#,
                #"[{"event":"START","experimentTime":0,"systemTime":1795575000.5},{"event":"PAUSE","experimentTime":2,"systemTime":1795575002.5}]"#,
            ].joined(separator: "\n")
        ].map { Array($0.utf8) }
    ) { bytes in
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        guard lines.count == 3, let phone = PhyphoxPhone("http://phone") else { return .rejected }
        var recording = PhyphoxRecording(phone)
        do {
            try recording.didReceiveConfig(lines[0])
            _ = recording.requests
            try recording.skip(to: lines[1])
            recording.reset()
            try recording.didReceiveConfig(lines[0])
            guard let content = try recording.didReceive(values: lines[1], times: lines[2]) else { return .rejected }
            recording.didStore(content)
            let now = Timestamp(microseconds: 1_795_575_600_000_000)
            for reading in content.report.readings { _ = try? SampleFitter().sample(reading, at: now) }
            guard let again = try recording.didReceive(values: lines[1], times: lines[2]) else { return .rejected }
            return again.report.readings.isEmpty ? .accepted : .wrong("samples are read twice")
        } catch { return .rejected }
    }

    /// A birth message, data and a death of one content.
    private static let sparkplugNodes = FuzzTarget(
        name: "gateway: sparkplug",
        corpus: [SparkplugPayload(time: 1_795_575_600_000, metrics: sparkplugMetrics, number: 7).encoded()]
    ) { bytes in
        guard let node = SparkplugNode("plant/line") else { return .wrong("no node") }
        let moment = Moment(wall: Timestamp(microseconds: 1_795_575_600_000_000), boot: 0, awake: 0)
        var nodes = SparkplugNodes(SparkplugTargets())
        let fitter = SampleFitter()
        var outcome = Outcome.rejected
        for type in [
            SparkplugTopic.MessageType.nodeBirth, .deviceBirth, .deviceData, .nodeData, .deviceDeath, .nodeDeath,
        ] {
            let topic = SparkplugTopic(type, node, device: type.hasDevice ? "d" : nil)
            let translations = (nodes.handle(topic, bytes, at: moment) + nodes.release(at: moment, all: true))
                .compactMap { try? $0.result.get() }
            guard !translations.isEmpty else { continue }
            outcome = .accepted
            for reading in translations.flatMap(\.reports).flatMap(\.readings) {
                guard let sample = try? fitter.sample(reading, at: moment.wall) else { continue }
                for (column, value) in zip(sample.stream.columns, sample.values)
                where !column.kind.accepts(value) && !(value.isNaN && !column.isRequired) {
                    return .wrong("\(column.name) of \(sample.stream) is \(value)")
                }
            }
        }
        return outcome
    }

    private static let jsonRules: [JSONRule] = [
        JSONRule(
            topic: "t", device: "d", stream: "pressure", items: JSONPointer("/items"), time: JSONPointer("/at"),
            timeUnit: .iso, columns: JSONPointer("/p/0").map { ["pressure": .init(path: $0)] } ?? [:])
    ]

    private static let encryptingKeys: OwnTracksKeys = {
        var keys = OwnTracksKeys()
        _ = keys.add("secret", for: "*")
        return keys
    }()

    /// A translator: it must not crash, and everything that it accepts must be a valid sample or be left out with a
    /// reason.
    /// - Parameter topic: the topic of the messages, or nil for HTTP requests.
    static func translator(
        _ adapter: any GatewayAdapter, _ topic: String?, _ examples: [String], also binary: [[UInt8]] = []
    ) -> FuzzTarget {
        let now = Timestamp(microseconds: 1_795_575_600_000_000)
        let fitter = SampleFitter()
        return FuzzTarget(
            name: "gateway: \(adapter.name)\(topic == nil ? " by HTTP" : "")",
            corpus: examples.map { Array($0.utf8) } + binary
        ) { bytes in
            let translation: Translation
            let request = ForeignMessage.Origin.request(
                HTTPFacts(path: adapter.path ?? "/", query: ["d": "d"], user: "alice"))
            do {
                translation = try adapter.translate(
                    ForeignMessage(origin: topic.map { .topic($0) } ?? request, payload: bytes, receivedAt: now))
            } catch { return .rejected }
            for reading in translation.reports.flatMap(\.readings) {
                guard let sample = try? fitter.sample(reading, at: now) else { continue }
                for (column, value) in zip(sample.stream.columns, sample.values) {
                    guard column.kind.accepts(value) || (value.isNaN && !column.isRequired) else {
                        return .wrong("\(column.name) of \(sample.stream) is \(value)")
                    }
                    if column.name == "lat", abs(value) > 90 { return .wrong("latitude \(value)") }
                    if column.name == "lon", abs(value) > 180 { return .wrong("longitude \(value)") }
                }
                if sample.time <= Timestamp(microseconds: 0) { return .wrong("time \(sample.time)") }
            }
            return .accepted
        }
    }
}
