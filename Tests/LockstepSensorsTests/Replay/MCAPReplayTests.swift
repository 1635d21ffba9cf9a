import LockstepModel
import SensorTestSupport
import Testing

@testable import LockstepSensors

/// What Lockstep writes itself is read in `RoundTripTests`.
@Suite("Replay of MCAP")
struct MCAPReplayTests {
    /// 2023-11-14T22:13:20Z in ns.
    private static let start: UInt64 = 1_700_000_000_000_000_000

    private func read(_ example: MCAPExample, map: [String] = []) async throws -> Recording {
        try await example.withFile { file in
            var format = RecordingFormat()
            format.mappings = try map.map { try RecordingFormat.Mapping($0, streams: .builtIn) }
            return try Recording(file: file, format: format)
        }
    }

    private func error(_ example: MCAPExample, map: [String] = []) async -> String {
        do {
            _ = try await read(example, map: map)
            return ""
        } catch { return "\(error)" }
    }

    @Test("numbers in inner objects of a JSON channel are columns for --map", arguments: [true, false])
    func innerObjects(isChunk: Bool) async throws {
        var example = MCAPExample()
        example.channel(7, "/imu")
        for index in 0..<3 {
            example.message(
                7, Self.start + UInt64(index) * 10_000_000,
                #"{"name":"a","list":[1],"acceleration":{"x":\#(index),"y":0,"z":9.80665}}"#)
        }
        if isChunk { example.pack() }
        example.end()
        let map = ["x", "y", "z"].map { "acceleration.\($0)=accelerometer.\($0):m/s2" }
        let samples = try #require(try await read(example, map: map).samples(of: .accelerometer))
        #expect(samples.times == [0, 10_000, 20_000].map { Int64(Self.start / 1000) + $0 })
        #expect(samples.columns[2] == [-1, -1, -1] && samples.columns[0][2] == -2 / 9.80665)
        let list = "acceleration.x, acceleration.y, acceleration.z, name"
        #expect(await error(example).contains(".mcap: \(list) are not"))
        #expect(await error(example, map: ["x=pressure.pressure"]).hasSuffix("of --map; they have \(list)"))
    }

    @Test("the topics of several channels precede the names, and messages of one time are one row")
    func severalChannels() async throws {
        var example = MCAPExample()
        example.channel(1, "/a/baro")
        example.channel(2, "/image", encoding: "cdr")
        example.channel(3, "/gps")
        example.message(1, Self.start, #"{"p":1013}"#)
        example.message(2, Self.start, "\u{0}")
        example.message(3, Self.start, #"{"latitude":46.5,"longitude":7.5}"#)
        example.message(1, Self.start + 1_000_000, #"{"p":1012}"#)
        let recording = try await read(
            example,
            map: ["a/baro.p=pressure.pressure", "gps.latitude=location.lat", "gps.longitude=location.lon"])
        #expect(recording.times.count == 2)
        #expect(recording.samples(of: .pressure)?.columns == [[1013, 1012]])
        #expect(recording.samples(of: .location)?.times == [Int64(Self.start / 1000)])
    }

    @Test("steps back in time between two channels are refused with advice, and so is one that stays in one channel")
    func notInOrder() async {
        let advice = "the messages are not in order of time: 'mcap sort FILE -o NEW'"
        var two = MCAPExample()
        two.channel(1, "/baro")
        two.channel(2, "/other")
        for index in 0...UInt64(RecordingReader.maxWrongTimes) {
            two.message(1, Self.start + (2 * index + 1) * 1_000_000, #"{"p":1013}"#)
            two.message(2, Self.start + 2 * index * 1_000_000, #"{"q":1}"#)
        }
        #expect(await error(two, map: ["baro.p=pressure.pressure"]).contains(".mcap: message 22: \(advice)"))
        // In blocks, few messages are earlier than the one before, but most of a channel would be lost.
        var blocks = MCAPExample()
        blocks.channel(1, "/baro")
        blocks.channel(2, "/other")
        for index in 0..<36 as Range<UInt64> {
            let (block, place) = index.quotientAndRemainder(dividingBy: 6)
            let time = Self.start + (block / 2 * 6 + place) * 1_000_000
            blocks.message(block % 2 == 0 ? 1 : 2, time, #"{"p":1013}"#)
        }
        #expect(await error(blocks, map: ["baro.p=pressure.pressure"]).contains(advice))
        // One channel is always far ahead of two messages of the other.
        var ahead = MCAPExample()
        ahead.channel(1, "/baro")
        ahead.channel(2, "/other")
        for index in 0...UInt64(RecordingReader.maxWrongTimes) {
            ahead.message(1, Self.start + (index + 1) * 10_000_000, #"{"p":1013}"#)
            for step in 1...2 as ClosedRange<UInt64> {
                ahead.message(2, Self.start + index * 10_000_000 + step * 1_000_000, #"{"q":1}"#)
            }
        }
        #expect(await error(ahead, map: ["baro.p=pressure.pressure"]).contains(advice))
        // Not a single row that is too late.
        var one = MCAPExample()
        one.channel(1, "/baro")
        for _ in 1...2 { one.message(1, Self.start + 1_000_000, #"{"p":1013}"#) }
        for _ in 0...RecordingReader.maxWrongTimes { one.message(1, Self.start, #"{"p":1013}"#) }
        #expect(await error(one, map: ["p=pressure.pressure"]).contains(advice))
    }

    @Test(
        "a wrong time in a file of several channels is left out and counted",
        arguments: [-1_000_000_000, 1_000_000_000])
    func wrongTimeAmongChannels(error: Int64) async throws {
        var example = MCAPExample()
        example.channel(1, "/baro")
        example.channel(2, "/other")
        for index in 0..<40 as Range<Int64> {
            let time = index * 1_000_000 + (index == 20 ? error : 0)
            example.message(index % 2 == 0 ? 1 : 2, UInt64(Int64(Self.start) + time), #"{"p":\#(index)}"#)
        }
        let recording = try await read(example, map: ["baro.p=pressure.pressure"])
        let values = stride(from: 0.0, to: 40, by: 2).filter { $0 != 20 }
        #expect(recording.samples(of: .pressure)?.columns == [values])
        #expect(recording.skipped.count == 1 && recording.skipped.line == 21)
    }

    @Test("a single wrong time in a channel is left out, and the last time is the latest of the channels that are read")
    func wrongTime() async throws {
        var example = MCAPExample()
        example.channel(1, "/baro")
        example.channel(2, "/image", encoding: "cdr")
        for time in [0, 9, 3] as [UInt64] {
            example.message(1, Self.start + time * 1_000_000, #"{"pressure_hPa":1013}"#)
        }
        example.message(2, Self.start + 60_000_000, "")
        let recording = try await read(example)
        #expect(recording.times.count == 2 && recording.skipped.count == 1)
        try await example.withFile { file in
            let reader = try RecordingReader.open(file)
            #expect(reader.lastTime == Int64(Self.start / 1000) + 9000)
        }
    }

    @Test("members with the names of times are no times of the rows")
    func membersWithTimes() async throws {
        var example = MCAPExample()
        example.channel(1, "/baro")
        example.message(1, Self.start, #"{"t_us":1,"t_ms":2,"t_s":3,"t_ns":4,"time":5,"pressure_hPa":1013}"#)
        #expect(try await read(example).times == [Int64(Self.start / 1000)])
    }

    @Test("values that are not finite are left out, and messages that are no objects have no values")
    func unusualValues() async throws {
        var example = MCAPExample()
        example.channel(1, "/baro")
        example.channel(2, "/words")
        example.message(2, Self.start, "\"a\"")
        for (index, value) in ["1013", "NaN", "-Infinity", "1012"].enumerated() {
            example.message(1, Self.start + UInt64(index) * 1_000_000, #"{"p":\#(value)}"#)
        }
        let recording = try await read(example, map: ["baro.p=pressure.pressure"])
        #expect(recording.samples(of: .pressure)?.columns == [[1013, 1012]])
        #expect(recording.skipped.count == 2)
    }

    @Test("topics and metadata of other programs are no devices")
    func foreignDevices() async throws {
        var example = MCAPExample()
        example.channel(1, "/lab/left/pressure_sensor", device: ("lab", "left"))
        example.channel(2, "/lab/right/pressure_sensor", device: ("lab", "right"))
        for channel in [1, 2] as [UInt16] {
            example.message(channel, Self.start, #"{"p":\#(1012 + Int(channel))}"#)
        }
        let recording = try await read(example, map: ["lab/left/pressure_sensor.p=pressure.pressure"])
        #expect(recording.samples(of: .pressure)?.columns == [[1013]])
    }

    @Test("of an export, the streams that are not known are left out, unless there are no others")
    func unknownStreams() async throws {
        var example = MCAPExample()
        example.channel(1, "/lab/left/x/co2", schema: "lockstep.x_co2", device: ("lab", "left"))
        example.message(1, Self.start, #"{"ppm":400}"#)
        #expect(await error(example).contains(".mcap: the samples are of 'x/co2', which is none of the streams here"))
        example.channel(2, "/lab/left/pressure", schema: "lockstep.pressure", device: ("lab", "left"))
        example.message(2, Self.start + 1_000_000, #"{"pressure":1013}"#)
        let recording = try await read(example)
        #expect(recording.blocks.map(\.stream) == [.pressure] && recording.times.count == 1)
    }

    @Test("of an export, only the streams are read, and only those of one device")
    func export() async throws {
        var example = MCAPExample()
        example.channel(1, "/lab/left/pressure", schema: "lockstep.pressure", device: ("lab", "left"))
        example.channel(2, "/lab/left/location/fix", schema: "foxglove.LocationFix", device: ("lab", "left"))
        example.channel(3, "/markers", schema: "lockstep.marker")
        let time = #""timestamp":{"sec":1700000000,"nsec":0}"#
        example.message(1, Self.start, #"{\#(time),"pressure":1013}"#)
        example.message(2, Self.start, #"{\#(time),"latitude":1}"#)
        example.message(3, Self.start, #"{\#(time),"text":"a"}"#)
        let recording = try await read(example)
        #expect(recording.blocks.map(\.stream) == [.pressure] && recording.times.count == 1)
        example.channel(4, "/lab/right/pressure", schema: "lockstep.pressure", device: ("lab", "right"))
        // The devices are one after another, each in order of time.
        example.message(4, Self.start - 1_000_000, #"{\#(time),"pressure":1013}"#)
        let reason = await error(example)
        #expect(reason.contains("several devices, such as lab/left and lab/right: export one device"), "\(reason)")
    }

    @Test("what cannot be read is refused with advice")
    func refused() async throws {
        var example = MCAPExample()
        #expect(await error(example).contains("the file has no messages"))
        example.channel(1, "/imu", encoding: "cdr")
        example.message(1, 0, "\u{0}")
        #expect(await error(example).contains("no messages in JSON, only in cdr: convert it"))
        example.pack(compression: "zstd")
        #expect(await error(example).contains("compressed with zstd, which cannot be read: 'mcap decompress"))
    }

    @Test("the rows before a damaged message and before the end of a file that was cut off are delivered")
    func damaged() async throws {
        var example = MCAPExample()
        example.channel(1, "/baro")
        for index in 0..<3 { example.message(1, Self.start + UInt64(index) * 1000, #"{"pressure_hPa":1013}"#) }
        var broken = example
        broken.message(1, Self.start + 3000, #"{"pressure_hPa"#)
        var cut = example
        cut.message(1, Self.start + 3000, "{}")
        let file = Array(cut.bytes.dropLast())
        // An index with a wrong length between the messages.
        let wrongLength =
            example.bytes + [0x08] + [UInt8](repeating: 0x7F, count: 8) + cut.bytes[example.bytes.count...]
        for (bytes, reason) in [
            (broken.bytes, "message 4: invalid JSON"), (file, "message 4: the file ends within a record"),
            (wrongLength, "message 4: the file ends within a record"),
        ] {
            try await MCAPExample(bytes).withFile { file in
                let sink = RecordingSink()
                let error = await #expect(throws: ReplayError.self) {
                    try await ReplaySource(file: file, speed: .maximum).run(into: sink)
                }
                #expect(error?.reason.hasPrefix(reason) == true, "\(error?.reason ?? "")")
                #expect(sink.seen.samples(.pressure).count == 3)
            }
        }
    }

    @Test("a damaged value names its message")
    func wrongValue() async {
        var example = MCAPExample()
        example.channel(1, "/baro")
        example.message(1, Self.start, #"{"pressure_hPa":1013}"#)
        example.message(1, Self.start + 1000, #"{"pressure_hPa":"high"}"#)
        let reason = await error(example)
        #expect(reason.contains(": message 2: 'high' is not a number"), "\(reason)")
    }
}
