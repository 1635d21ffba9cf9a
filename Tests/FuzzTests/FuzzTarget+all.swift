import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepWire
import SensorTestSupport

@testable import LockstepSensors

extension FuzzTarget {
    /// Every decoder of external input.
    static let all: [FuzzTarget] =
        BatchEncoding.allCases.flatMap { encoding in SensorStream.builtIn.map { batch(of: $0, in: encoding) } } + [
            presence, acknowledgement, event, eventRequest, deletion, eventConfirmation, pong, state, request, reply,
            health,
            topic, recording, objects, track, messages, gpsd, settings,
        ]
        + iio + gateway

    private static func batch(of stream: SensorStream, in encoding: BatchEncoding) -> FuzzTarget {
        var block = SampleBlock(stream: stream)
        for index in 0..<3 {
            let values = stream.columns.map { column -> Double in
                if !column.isRequired, index == 1 { return .nan }
                return switch column.kind {
                case .real: column.range == nil ? 0.25 - Double(index) : 0.25 + Double(index) / 4
                case .integer: 7 + Double(index)
                case .choice(let words): Double(index % words.count)
                }
            }
            let time = 1_700_000_000_000_000 + Int64(index * index) * 10_000
            block.append(time: Timestamp(microseconds: time), values: values)
        }
        let position = BatchPosition(epoch: Epoch(unchecked: "72fb8639bfae3695"), seq: 42)
        var random = SeededGenerator(seed: 1)
        let long = Batch.random(of: stream, counts: 100...100, using: &random)
        let limits = PayloadLimits(bytes: 1 << 16, samples: 1000)
        return codec(
            "batch of \(stream) in \(encoding)",
            [Batch(position: position, samples: block), Batch(position: nil, isLive: false, samples: block), long],
            encode: encoding.encode,
            decode: {
                try BatchEncoding.decode($0, contentType: encoding.contentType, stream: stream, limits: limits)
            })
    }

    private static let presence = codec(
        "presence",
        [
            Presence(
                epoch: Epoch(unchecked: "72fb8639bfae3695"), session: 1_795_232_024_668_000, phase: .foreground,
                at: Timestamp(microseconds: 1_795_232_024_668_621), reason: "start", dropped: [3...4, 9...9],
                droppedSamples: 12, sources: ["simulate:2": "running", "gpsd": "no fix"]),
            Presence(epoch: nil, session: nil, phase: .lost, at: nil),
            Presence(
                epoch: Epoch(unchecked: "72fb8639bfae3695"), session: 1, phase: .foreground, at: nil,
                clock: ClockReport(
                    isSynchronised: true, maxError: 850,
                    points: [
                        ClockPoint(
                            collector: CollectorID(unchecked: "main"),
                            time: Timestamp(microseconds: 1_795_232_024_668_621),
                            segment: Timestamp(microseconds: 1_795_232_024_000_000), offset: -1234, skew: -17_150,
                            bound: 180, skewBound: 2400)
                    ])),
        ], encode: PresenceJSON.encode, decode: PresenceJSON.decode)

    private static let acknowledgement = codec(
        "acknowledgement",
        [
            Acknowledgement(
                epoch: Epoch(unchecked: "72fb8639bfae3695"), through: 40, missing: [42...44, 50...50], highest: 60)
        ], encode: AcknowledgementJSON.encode, decode: AcknowledgementJSON.decode)

    private static let eventKey = RuleEvent.Key(
        rule: "high", device: DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left")),
        time: Timestamp(microseconds: 1_795_232_037_655_430))

    private static let event = codec(
        "event",
        [
            StoredEvent(
                id: 7,
                event: RuleEvent(
                    key: eventKey, at: eventKey.time + 200_000, value: 41.5, text: "lab/left: high (41.5)",
                    isLate: true), acknowledged: eventKey.time + 9_000_000)
        ], encode: EventJSON.encode, decode: { try EventJSON.decode($0, of: eventKey.device) })

    private static let eventRequest = codec(
        "event acknowledgement", [eventKey], encode: EventAcknowledgementJSON.encode,
        decode: { try EventAcknowledgementJSON.decodeRequest($0, of: eventKey.device) })

    private static let deletion = codec(
        "deletion",
        [
            Deletion(
                id: "a", device: DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")),
                stream: "location",
                times: 1..<5, at: Timestamp(microseconds: 9), who: "é", reason: "\"", isSecure: true)
        ], encode: DeletionJSON.encode,
        decode: {
            try DeletionJSON.decode(
                $0, of: DeviceAddress(group: .standard, device: DeviceID(unchecked: "left")),
                at: Timestamp(microseconds: 9))
        })

    private static let eventConfirmation = codec(
        "event confirmation",
        [StoredAcknowledgement(id: 7, key: eventKey, acknowledged: eventKey.time + 9_000_000)],
        encode: EventAcknowledgementJSON.encode,
        decode: { try EventAcknowledgementJSON.decodeConfirmation($0, of: eventKey.device) })

    private static let pong = codec(
        "pong",
        [
            ClockPong(
                number: 7, collector: CollectorID(unchecked: "main"), boot: "6248e85b", received: 36_273_066_848,
                sent: 36_273_066_921, shift: 1_795_574_884_512_645, maxError: 900)
        ], encode: ClockJSON.encode, decode: ClockJSON.decodePong)

    private static let state = codec(
        "state",
        [
            LifecycleTransition(
                from: .resumed, to: .active, since: Timestamp(microseconds: 1_795_232_037_655_430),
                reason: "live-sample", seq: 4),
            LifecycleTransition(
                from: nil, to: .active, since: Timestamp(microseconds: 1), reason: "foreground", seq: 1),
        ], encode: StateJSON.encode, decode: StateJSON.decode)

    private static let calibration = InertialCalibration(
        time: Timestamp(microseconds: 1_795_232_037_655_430), matrix: InertialCalibration.identity,
        offset: SIMD3(0.08, -0.05, 0), rotationOffset: SIMD3(0.01, 0, 0), positions: 9, errorBefore: 0.08,
        errorAfter: 0.0004)

    private static let request = codec(
        "request",
        [
            AgentRequest(
                id: "7", client: "desk", action: .lease(RateLease(stream: .gyroscope, rate: 200, duration: 60.5))),
            AgentRequest(action: .phase(.background)), AgentRequest(id: "é\"\\", action: .flush),
            AgentRequest(action: .describe), AgentRequest(action: .calibrate(nil)),
            AgentRequest(action: .calibrate(calibration)),
        ], encode: RequestJSON.encode, decode: { try RequestJSON.decode($0) })

    private static let reply = codec(
        "reply",
        [
            AgentReply(
                id: "7",
                outcome: .leased(
                    stream: .gyroscope, rate: .infinity, until: Timestamp(microseconds: 1_795_232_037_000_000))),
            AgentReply(outcome: .leased(stream: .steps, rate: nil, until: nil)),
            AgentReply(outcome: .phase(.inactive)), AgentReply(outcome: .flushed(batches: 3)),
            AgentReply(id: "x", outcome: .failed("no such stream")),
            AgentReply(outcome: .calibrated(calibration)), AgentReply(outcome: .calibrated(nil)),
            AgentReply(
                outcome: .described(
                    AgentDescription(
                        epoch: Epoch(unchecked: "72fb8639bfae3695"), phase: .foreground,
                        streams: [.init(stream: .steps, rate: .infinity), .init(stream: .gyroscope, rate: 50)],
                        leases: [
                            .init(
                                client: "desk", stream: .gyroscope, rate: 50,
                                until: Timestamp(microseconds: 1_795_232_037_000_000))
                        ], sources: ["gpsd": "no fix"], outboxBatches: 2, outboxBytes: 700, droppedSamples: 1))),
        ], encode: ReplyJSON.encode, decode: ReplyJSON.decode)

    private static let health = codec(
        "health",
        [
            CollectorHealth(
                status: .stalled, at: Timestamp(microseconds: 1_795_232_034_715_000), problem: "disk full",
                devices: 2, stored: 6100, duplicates: 1, conflicts: 2, rejected: 3, dropped: 4, version: "0.1.0",
                started: Timestamp(microseconds: 1_795_232_013_690_000), memory: 28_450_816, memoryPeak: 28_450_816)
        ], encode: { $0.encoded() }, decode: CollectorHealth.decode)

    private static let topic = reader(
        "topic",
        [
            "lockstep/default/walker/motion/accelerometer", "lockstep/lab/arm-left/command/reply",
            "lockstep/default/$collector/main",
        ]
    ) { _ = try TopicRoot.standard.parse($0) }

    private static let recording = reader(
        "recording",
        [
            "t_us,x_g,y_g,z_g\n0,0.1,-0.2,-1\n10000,0.1,-0.2,-1\n",
            "t_us,lat,lon,alt,fix,at\r\n0,48.1,11.5,520,3,1700000000000000\r\n1000000,,,,1,\r\n",
            "t_us,gx_rad_s,gy_rad_s,gz_rad_s,mx_uT,my_uT,mz_uT,qw\n5,1,2,3,,,,1\n6,1,2,3,20,0,-40,\n",
        ]
    ) { text in
        // Split bytes, not characters: Swift treats CR LF as one character.
        var lines = Array(text.utf8).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        guard !lines.isEmpty else { throw ReadError() }
        let header = lines.removeFirst().filter { $0 != UInt8(ascii: "\r") }
        let layout = try RecordingLayout(header: String(decoding: header, as: UTF8.self), file: "f", extras: ["qw"])
        for line in lines { _ = try layout.row(line.last == UInt8(ascii: "\r") ? line.dropLast() : line) }
    }

    private static let objects = reader(
        "recording as NDJSON",
        [
            #"{"group":"lab","device":"arm","stream":"motion/accelerometer","t":1795575590250000,"time":"2026","x":1,"y":2.5,"z":-3}"#
                + "\n",
            #"{"stream":"pressure","t":1795575590250000,"pressure":1013.25}"# + "\n"
                + #"{"stream":"location","t":1795575590270000,"lat":46.5,"lon":7.5,"alt":null}"# + "\n",
        ]
    ) { text in
        let names =
            ["t"]
            + [SensorStream.accelerometer, .pressure, .location].flatMap { stream in
                stream.columns.map { "\(stream.table)_\($0.name)" }
            }
        let layout = try RecordingLayout(names: names, separator: UInt8(ascii: ","), streamNames: [], file: "f")
        for line in Array(text.utf8).split(separator: UInt8(ascii: "\n")) {
            _ = try layout.row(fields: NDJSONFields.fields(of: line, names), isStrict: false)
        }
    }

    private static let track = reader(
        "recording as GPX",
        [
            "<gpx><!-- a --><trk><trkseg><trkpt lat=\"46.5\" lon='7.5'><ele>520.5</ele><time>2026-11-25T02:59:50Z</time>"
                + "<fix>3d</fix></trkpt><trkpt lat='1' lon='2'/></trkseg></trk></gpx>",
            "<g:gpx><g:trkpt lat='1' lon='2'><g:time>2026-11-25T02:59:50Z</g:time><g:x:speed>1.5</g:x:speed></g:trkpt>",
        ]
    ) { text in
        let layout = try RecordingLayout(
            names: GPXPoints.names, separator: UInt8(ascii: ","), streamNames: [], file: "f")
        var points = GPXPoints()
        for piece in Array(text.utf8).split(separator: UInt8(ascii: ">")) {
            if let fields = try points.add(piece) { _ = try layout.row(fields: fields, isStrict: false) }
        }
    }

    private static let messages = FuzzTarget(
        name: "recording as MCAP",
        corpus: [false, true].map { isChunk in
            var example = MCAPExample()
            for (channel, stream) in [(1, "pressure"), (2, "altitude")] as [(UInt16, String)] {
                example.channel(channel, "/lab/arm/\(stream)", schema: "lockstep.\(stream)", device: ("lab", "arm"))
            }
            for index in 0..<3 as Range<UInt64> {
                let time = 1_700_000_000_000_000_000 + index * 1_000_000
                example.message(1, time, #"{"timestamp":{"sec":1,"nsec":2},"pressure":1013}"#)
                example.message(2, time, #"{"altitude":-1.5}"#)
            }
            if isChunk { example.pack() }
            example.end()
            return example.bytes
        }
    ) { bytes in
        let file = FileManager.default.temporaryDirectory.path + "/lockstep-fuzz-\(UUID().uuidString).mcap"
        defer { unlink(file) }
        try Data(bytes).write(to: URL(filePath: file))
        return (try? Recording(file: file)) == nil ? .rejected : .accepted
    }

    private static let gpsd = reader(
        "gpsd",
        [
            #"{"class":"TPV","device":"/dev/ttyACM0","mode":3,"time":"2026-11-21T10:00:00.000Z","lat":48.1,"lon":11.5,"altMSL":520.5,"eph":4.2,"epv":7,"track":12.5,"speed":1.4}"#,
            #"{"class":"SKY","nSat":12,"uSat":7}"#, #"{"class":"VERSION","release":"3.22","rev":"3.22"}"#,
            #"{"class":"DEVICES","devices":[{"path":"/dev/ttyACM0"}]}"#, #"{"class":"ERROR","message":"no"}"#,
        ]
    ) { _ = try GpsdReport(line: Array($0.utf8)) }

    private static let settings = reader(
        "settings",
        [
            "# here\nbroker: mqtt://localhost:1883\nsource: [iio, 'gpsd']\n",
            "---\na: &b\n  - c\n  - {d: \"\\x41\"}\ne: *b\n",
            "f: |\n  g\n  h\ni: >-\n  j\n? k\n: !!str l\n...\n",
        ]
    ) { _ = try YAMLNode.read($0) }

    /// Values that drivers write to sysfs.
    private static let iio = [
        reader("IIO scan type", ["le:s16/16>>0", "be:u12/16>>4", "le:s64/64>>0", "le:s16/32X2>>0"]) { text in
            if ScanType(text) == nil { throw ReadError() }
        },
        reader("IIO mount matrix", ["1, 0, 0; 0, 1, 0; 0, 0, 1", "0,-1,0;1,0,0;0,0,1"]) { _ = try MountMatrix($0) },
        reader("IIO rates", ["25 50 100.5 200", "[1 0.5 100]"]) { text in
            if SamplingRates(text) == nil { throw ReadError() }
        },
    ]

    private struct ReadError: Error {}
}
