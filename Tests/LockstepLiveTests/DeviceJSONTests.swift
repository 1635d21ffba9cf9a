import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("JSON of devices and collectors")
struct DeviceJSONTests {
    private let picture = LivePicture(root: .standard)
    private let left = device("left")

    @Test("what no store has reported of a device is unknown, not 0")
    func unknown() {
        picture.handle(.presence(.lost, of: left), at: 0)
        #expect(
            String(decoding: picture.devicesJSON(at: moment(1)), as: UTF8.self)
                == #"{"at":1700000001000000,"devices":[{"group":"lab","device":"left","state":null,"since":null,"#
                + #""previous":null,"reason":null,"seq":0,"last_sample":null,"samples":0,"stored":null,"duplicates":null,"#
                + #""conflicts":null,"missing":null,"on_its_way":null,"dropped_batches":0,"dropped_samples":0,"rates":{},"phase":"lost","#
                + #""sources":{},"battery":null,"position":null,"streams":[]}]}"#)
    }

    @Test("a device of which everything is known")
    func complete() {
        let seed = DeviceSeed(
            address: left,
            counters: StoredCounters(
                samples: 1000, duplicates: 1, conflicts: 2, missing: 3, onItsWay: 7, droppedBatches: 4,
                droppedSamples: 5),
            newest: [SampleBlock(stream: .pressure)])
        picture.seed([seed])
        picture.handle(.state(transition(.active, from: .resumed, at: 1, seq: 7), of: left), at: 1)
        picture.handle(.presence(.foreground, of: left, sources: ["gpsd": "no \"fix\""]), at: 1)
        var battery = SampleBlock(stream: .battery)
        battery.append(time: moment(1).wall, values: [0.5, 2])
        picture.handle(.samples(battery, of: left), at: 1)
        var fix = SampleBlock(stream: .location)
        fix.append(time: moment(2).wall, values: [48.25, 11.5, .nan, 5, .nan, 1.5, .nan, 3, .nan])
        picture.handle(.samples(fix, of: left), at: 1)
        picture.handle(.samples(samples(100, from: 1), of: left), at: 1)
        #expect(
            String(decoding: picture.devicesJSON(at: moment(2)), as: UTF8.self)
                == #"{"at":1700000002000000,"devices":[{"group":"lab","device":"left","state":"active","#
                + #""since":1700000001000000,"previous":"resumed","reason":"test","seq":7,"#
                + #""last_sample":1700000002000000,"samples":1102,"stored":1000,"#
                + #""duplicates":1,"conflicts":2,"missing":3,"on_its_way":7,"#
                + #""dropped_batches":4,"dropped_samples":5,"#
                + #""rates":{"motion/accelerometer":100,"location":0.5,"battery":0.5},"phase":"foreground","#
                + #""sources":{"gpsd":"no \"fix\""},"#
                + #""battery":{"level":0.5,"charging":false,"t":1700000001000000},"#
                + #""position":{"lat":48.25,"lon":11.5,"hacc":5,"alt":null,"speed":1.5,"course":null,"#
                + #""t":1700000002000000},"streams":["motion/accelerometer","location","pressure","battery"]}]}"#)
    }

    @Test("the calibration of a device is shown until its agent no longer reports one")
    func calibration() throws {
        let calibration = InertialCalibration(
            time: Timestamp(microseconds: 9), matrix: InertialCalibration.identity, offset: SIMD3(0.1, 0, 0),
            positions: 9, errorBefore: 0.1, errorAfter: 0.001)
        picture.handle(.presence(.foreground, of: left, calibration: calibration), at: 1)
        let shown = String(decoding: picture.devicesJSON(at: moment(2)), as: UTF8.self)
        #expect(
            shown.contains(
                #""calibration":{"t":9,"matrix":[1,0,0,0,1,0,0,0,1],"offset":[0.1,0,0],"positions":9,"#
                    + #""error_before":0.1,"error_after":0.001},"battery":null"#), "\(shown)")
        picture.handle(.presence(.foreground, of: left), at: 2)
        #expect(!String(decoding: picture.devicesJSON(at: moment(2)), as: UTF8.self).contains("calibration"))
    }

    @Test("the details of a device have columns, units and the newest sample of each stream")
    func details() throws {
        var battery = SampleBlock(stream: .battery)
        battery.append(time: moment(1).wall, values: [.nan, 1])
        picture.handle(.samples(battery, of: left), at: 1)
        picture.seed([DeviceSeed(address: left, newest: [SampleBlock(stream: .pressure)])])
        let bytes = try #require(picture.deviceJSON(left, at: moment(1)))
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(
            text.hasSuffix(
                #""position":null,"streams":[{"stream":"pressure","columns":["pressure"],"units":["hPa"],"#
                    + #""rate":null,"newest":null},{"stream":"battery","columns":["level","state"],"units":["",""],"#
                    + #""rate":1,"newest":{"t":1700000001000000,"values":{"level":null,"state":"charging"}}}]}"#),
            "\(text)")
        #expect(picture.deviceJSON(device("unknown")) == nil)
    }

    @Test("devices are sorted by name, and filtered by group")
    func order() {
        for (name, group) in [("b", "lab"), ("a", "lab"), ("c", "field")] {
            picture.handle(.presence(.foreground, of: device(name, group: group)), at: 0)
        }
        func names(_ group: GroupID?) -> [Substring] {
            String(decoding: picture.devicesJSON(group: group, at: moment(0)), as: UTF8.self)
                .split(separator: #""device":""#).dropFirst().map { $0.prefix(1) }
        }
        #expect(names(nil) == ["c", "a", "b"])
        #expect(names(GroupID(unchecked: "lab")) == ["a", "b"])
        #expect(names(GroupID(unchecked: "other")).isEmpty)
    }

    @Test("collectors have their health, with null for what they do not report")
    func collectors() {
        #expect(String(decoding: picture.collectorsJSON, as: UTF8.self) == "[]")
        let full = CollectorHealth(
            status: .stalled, at: moment(0).wall, problem: "disk \"full\"", devices: 1, stored: 2, duplicates: 3,
            conflicts: 4, rejected: 5, dropped: 6, version: "1.0", started: moment(-1).wall, memory: 7, memoryPeak: 8,
            groups: ["lab"], rules: ["hot": "x/air"],
            places: ["home": .circle(.init(latitude: 48.1, longitude: 11.5), radius: 80)])
        picture.handle(Message(device("$collector"), "two", full.encoded()), at: 0)
        let will = CollectorHealth(status: .offline, at: moment(0).wall)
        picture.handle(Message(device("$collector"), "one", will.encoded()), at: 0)
        #expect(
            String(decoding: picture.collectorsJSON, as: UTF8.self)
                == #"[{"group":"lab","collector":"one","status":"offline","at":1700000000000000,"problem":null,"#
                + #""groups":null,"devices":0,"stored":0,"duplicates":0,"conflicts":0,"rejected":0,"dropped":null,"version":null,"#
                + #""started":null,"memory":null,"memory_peak":null,"space":null,"rules":{},"places":{}},{"group":"lab","collector":"two","#
                + #""status":"stalled","at":1700000000000000,"problem":"disk \"full\"","groups":["lab"],"#
                + #""devices":1,"stored":2,"duplicates":3,"conflicts":4,"rejected":5,"dropped":6,"version":"1.0","#
                + #""started":1699999999000000,"memory":7,"memory_peak":8,"space":null,"rules":{"hot":"x/air"},"#
                + #""places":{"home":{"center":[48.1,11.5],"radius":80}}}]"#)
    }
}
