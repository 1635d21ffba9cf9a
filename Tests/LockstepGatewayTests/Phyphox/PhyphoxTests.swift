import Foundation
import LockstepModel
import LockstepTestSupport
import Testing

@testable import LockstepGateway

@Suite("Phyphox")
struct PhyphoxTests {
    /// Runs one poll, as the poller does.
    private func poll(
        _ recording: inout PhyphoxRecording, _ phone: FakePhone, isStored: Bool = true
    ) throws -> ForeignReport? {
        func body(_ request: PhyphoxRecording.Request) throws -> [UInt8] {
            Array(try #require(phone.answer(request.path)).utf8)
        }
        if recording.requests == [.config] { try recording.didReceiveConfig(body(.config)) }
        let answers = try recording.requests.map(body)
        guard let content = try recording.didReceive(values: answers[0], times: answers[1]) else { return nil }
        if isStored { recording.didStore(content) }
        return content.report
    }

    private func makeRecording() throws -> PhyphoxRecording {
        PhyphoxRecording(try #require(PhyphoxPhone("http://192.168.0.12:8080/")))
    }

    @Test("at rest face up is (0, 0, -1) g, at the time of the phone's clock, and each sample comes once")
    func acceleration() throws {
        var phone = FakePhone()
        var recording = try makeRecording()
        let before = try #require(try poll(&recording, phone))
        #expect(before.readings.isEmpty)
        #expect(before.presence == ForeignPresence(.inactive, reason: "paused"))
        phone.measure(true, experiment: 0, system: 1_795_575_000.125)
        phone.append(0.5, 0, 0, 9.80665)
        phone.append(0.51, 9.80665, 0, 0)
        let first = try #require(try poll(&recording, phone))
        #expect(first.sender.description == "phyphox/192.168.0.12:8080")
        #expect(first.presence == ForeignPresence(.foreground, reason: "measuring"))
        #expect(first.readings.map(\.stream) == ["motion/accelerometer", "motion/accelerometer"])
        #expect(first.readings.map(\.time) == [1_795_575_000_625_000, 1_795_575_000_635_000])
        #expect(abs((first.readings[0].number("z") ?? 0) + 1) < 1e-6)
        #expect(abs((first.readings[1].number("x") ?? 0) + 1) < 1e-6)
        #expect(try poll(&recording, phone)?.readings.isEmpty == true)
        for index in 0..<1000 { phone.append(123.4567 + Double(index) * 0.01, 0, 0, Double(index)) }
        // Samples that could not be stored are read again.
        #expect(try poll(&recording, phone, isStored: false)?.readings.count == 1000)
        #expect(try poll(&recording, phone)?.readings.count == 1000)
        #expect(try poll(&recording, phone)?.readings.isEmpty == true)
    }

    @Test(
        "in a long recording, samples whose times are rounded to the last one are read, and each comes once",
        arguments: [0.0, 5, 9_999, 123_456])
    func rounded(_ start: Double) throws {
        var phone = FakePhone()
        var recording = try makeRecording()
        phone.measure(true, experiment: 0, system: 1_795_575_000)
        var values: [Double] = []
        for index in 0..<500 {
            phone.append(start + Double(index) * 0.0021, 0, 0, Double(index))
            let readings = try #require(try poll(&recording, phone)).readings
            values += readings.compactMap { $0.number("z") }
        }
        #expect(values.count == 500)
        #expect(Set(values).count == 500)
    }

    /// Polls a phone that records while it answers.
    /// - Returns: the samples, and the number of those whose columns do not belong together.
    private func pollRecording(_ phone: inout FakePhone, polls: Int) throws -> (samples: [Reading], wrong: Int) {
        var recording = try makeRecording()
        phone.recordsWhileAnswering = true
        phone.measure(true, experiment: 0, system: 1000)
        try recording.didReceiveConfig(Array(try #require(phone.answer("/config")).utf8))
        var samples: [Reading] = []
        for _ in 0..<polls {
            let answers = recording.requests.map { Array((phone.answerWhileRecording($0.path) ?? "").utf8) }
            let content = try #require(try recording.didReceive(values: answers[0], times: answers[1]))
            recording.didStore(content)
            samples += content.report.readings
        }
        let wrong = samples.count { sample in
            let time = Double(sample.time) / 1e6 - 1000
            return !["x", "y", "z"].allSatisfy { abs((sample.number($0) ?? 0) * -9.80665 - time) < 1e-3 }
        }
        return (samples, wrong)
    }

    @Test("buffers that grow while the phone answers give each sample once, with the values of its time")
    func growing() throws {
        var phone = FakePhone()
        let (samples, wrong) = try pollRecording(&phone, polls: 50)
        #expect(wrong == 0)
        // The samples since the buffer of times was read come with the next poll.
        let times = samples.indices.map { 1_000_062_500 + Int64($0) * 62_500 }
        #expect(samples.map(\.time) == times)
        #expect(samples.count >= 4 * 49)
    }

    @Test("full buffers of a fixed size, which drop values while the phone answers, give no wrong pairs")
    func ring() throws {
        var phone = FakePhone()
        phone.size = 40
        for index in 1...100 {
            let time = Double(index) * 0.0625
            phone.append(time, time, time, time)
        }
        let (samples, wrong) = try pollRecording(&phone, polls: 50)
        #expect(wrong == 0)
        #expect(samples.count >= 4 * 47)
    }

    @Test("two sensors with one buffer of times lose nothing if one of them is read later")
    func sharedTimes() throws {
        var phone = FakePhone()
        phone.inputs = """
            {"source":"pressure","outputs":[{"x":"p"},{"t":"t"}]}, {"source":"light","outputs":[{"x":"l"},{"t":"t"}]}
            """
        phone.buffers = ["t": [1, 2], "p": [1000], "l": [300, 301]]
        phone.measure(true, experiment: 0, system: 1000)
        var recording = try makeRecording()
        #expect(try poll(&recording, phone)?.readings.count == 3)
        phone.buffers["p"] = [1000, 1001]
        #expect(
            try poll(&recording, phone)?.readings == [
                Reading("pressure", at: 1_002_000_000, [("pressure", .number(1001))])
            ])
    }

    @Test("a buffer that stays far behind the others is reported")
    func stalled() throws {
        var phone = FakePhone()
        phone.measure(true, experiment: 0, system: 1000)
        for index in 1...1500 { phone.append(Double(index), 0, 0, 0) }
        phone.buffers["accY"] = []
        var recording = try makeRecording()
        let report = try #require(try poll(&recording, phone))
        #expect(report.readings.isEmpty && report.omissions.count == 1 && report.omissions[0].contains("accY"))
    }

    @Test("a pause stops the experiment time, but not the clock")
    func pause() throws {
        var phone = FakePhone()
        var recording = try makeRecording()
        phone.measure(true, experiment: 0, system: 1000)
        phone.append(1, 0, 0, 0)
        phone.measure(false, experiment: 2, system: 1002)
        phone.measure(true, experiment: 2, system: 1500)
        phone.append(3, 0, 0, 0)
        #expect(try poll(&recording, phone)?.readings.map(\.time) == [1_001_000_000, 1_501_000_000])
    }

    @Test("after the data is deleted, or the app starts again, everything is read again")
    func cleared() throws {
        var phone = FakePhone()
        var recording = try makeRecording()
        phone.measure(true, experiment: 0, system: 1000)
        phone.append(100, 0, 0, 0)
        #expect(try poll(&recording, phone)?.readings.count == 1)
        phone.clear()
        phone.measure(true, experiment: 0, system: 2000)
        phone.append(1, 0, 0, 0)
        #expect(try poll(&recording, phone) == nil)
        #expect(try poll(&recording, phone)?.readings.map(\.time) == [2_001_000_000])
        phone.session = "fedcba"
        #expect(try poll(&recording, phone) == nil)
        #expect(recording.requests == [.config])
        #expect(try poll(&recording, phone)?.readings.map(\.time) == [2_001_000_000])
    }

    @Test("each sensor has its stream, and unknown values are left out")
    func sensors() throws {
        var phone = FakePhone()
        phone.inputs = """
            {"source":"location","outputs":[{"lat":"la"},{"lon":"lo"},{"z":"z"},{"v":"v"},{"dir":"d"},\
            {"accuracy":"a"},{"status":"s"},{"t":"lt"}]},
            {"source":"gyroscope","outputs":[{"x":"gx"},{"y":"gy"},{"z":"gz"},{"t":"gt"}]},
            {"source":"magnetic_field","outputs":[{"x":"mx"},{"y":"my"},{"z":"mz"},{"t":"mt"}]},
            {"source":"pressure","outputs":[{"x":"p"},{"t":"pt"}]},
            {"source":"light","outputs":[{"x":"l"},{"t":"pt"}]},
            {"source":"audio","outputs":[{"out":"mic"}]}, {"source":"bluetooth"},
            {"source":"humidity","outputs":[{"x":"h&h"},{"t":"ht"}]},
            {"source":"temperature","outputs":[{"x":"te"}]}
            """
        phone.buffers = [
            "la": [50, 51], "lo": [8, 9], "z": [200, .nan], "v": [-1, 2], "d": [-1, 90], "a": [4, 5], "s": [1, 1],
            "lt": [1, 2], "gx": [0.1], "gy": [0.2], "gz": [0.3], "gt": [1], "mx": [10], "my": [20], "mz": [-40],
            "mt": [.nan], "p": [1013.25], "l": [300], "pt": [1],
        ]
        phone.measure(true, experiment: 0, system: 1000)
        var recording = try makeRecording()
        let report = try #require(try poll(&recording, phone))
        #expect(
            report.readings == [
                Reading(
                    "location", at: 1_001_000_000,
                    [("lat", .number(50)), ("lon", .number(8)), ("alt", .number(200)), ("hacc", .number(4))]),
                Reading(
                    "location", at: 1_002_000_000,
                    [
                        ("lat", .number(51)), ("lon", .number(9)), ("hacc", .number(5)), ("speed", .number(2)),
                        ("course", .number(90)),
                    ]),
                Reading(
                    "motion/gyroscope", at: 1_001_000_000,
                    [("x", .number(0.1)), ("y", .number(0.2)), ("z", .number(0.3))]),
                Reading("pressure", at: 1_001_000_000, [("pressure", .number(1013.25))]),
                Reading("x/phyphox/light", at: 1_001_000_000, [("value", .number(300))]),
            ])
        #expect(report.omissions.isEmpty)
        #expect(try poll(&recording, phone)?.readings.isEmpty == true)
    }

    @Test("a recording that is too large is skipped up to now")
    func skipped() throws {
        var phone = FakePhone()
        phone.measure(true, experiment: 0, system: 1000)
        for index in 1...10 { phone.append(Double(index), 0, 0, 0) }
        var recording = try makeRecording()
        try recording.didReceiveConfig(Array(try #require(phone.answer("/config")).utf8))
        #expect(recording.newestRequest.path == "/get?acc_time")
        try recording.skip(to: Array(try #require(phone.answer(recording.newestRequest.path)).utf8))
        phone.append(11, 0, 0, 0)
        #expect(try poll(&recording, phone)?.readings.map(\.time) == [1_010_000_000, 1_011_000_000])
    }

    @Test("answers that no phone gives are refused, or left out with a reason")
    func hostile() throws {
        func start() throws -> PhyphoxRecording {
            var recording = try makeRecording()
            try recording.didReceiveConfig(Array(try #require(FakePhone().answer("/config")).utf8))
            return recording
        }
        let time = #"[{"event":"START","experimentTime":0,"systemTime":1000}]"#
        for text in ["", "[]", "{", "{}", #"{"inputs":7}"#] {
            var recording = try makeRecording()
            #expect(throws: Refusal.self, "\(text)") { try recording.didReceiveConfig(Array(text.utf8)) }
        }
        for (values, times) in [
            ("", time), ("[]", time), ("{}", time), (#"{"buffer":{},"status":{}}"#, "{}"),
            (#"{"buffer":{},"status":{}}"#, #"[{"event":"START"}]"#),
            (#"{"buffer":{},"status":{}}"#, #"[{"event":"START","experimentTime":0,"systemTime":1e300}]"#),
        ] {
            var recording = try start()
            #expect(throws: Refusal.self, "\(values)") {
                try recording.didReceive(values: Array(values.utf8), times: Array(times.utf8))
            }
        }
        for buffers in [
            "{}", #"{"acc_time":{"buffer":[1]}}"#,
            #"{"acc_time":{"buffer":[1]},"accX":{"buffer":[1]},"accY":{"buffer":[1]},"accZ":{"buffer":7}}"#,
        ] {
            var recording = try start()
            let values = #"{"buffer":\#(buffers),"status":{"session":"a","measuring":true}}"#
            let content = try recording.didReceive(values: Array(values.utf8), times: Array(time.utf8))
            #expect(content?.report.readings.isEmpty == true)
            #expect(content?.report.omissions.count == 1)
        }
        var recording = try start()
        let huge =
            #"{"acc_time":{"buffer":[1e300]},"accX":{"buffer":["x"]},"accY":{"buffer":[1]},"accZ":{"buffer":[1]}}"#
        let content = try recording.didReceive(
            values: Array(#"{"buffer":\#(huge),"status":{"measuring":true}}"#.utf8), times: Array(time.utf8))
        #expect(content?.report.readings.isEmpty == true)
    }

    @Test("URLs of phones are read, others are not")
    func urls() {
        #expect(PhyphoxPhone("http://192.168.0.12:8080")?.url == "http://192.168.0.12:8080")
        #expect(PhyphoxPhone("http://phone.local/")?.authority == "phone.local")
        #expect(PhyphoxPhone("http://[::1]:80")?.authority == "[::1]:80")
        for text in ["", "192.168.0.12", "ftp://a", "http://", "http://a/b", "http://u@a", "http://a?b", "http://a b"] {
            #expect(PhyphoxPhone(text) == nil, "\(text)")
        }
    }
}
