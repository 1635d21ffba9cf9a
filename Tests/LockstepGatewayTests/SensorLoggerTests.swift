import LockstepGateway
import LockstepModel
import Testing

@Suite("Sensor Logger")
struct SensorLoggerTests {
    private static let time: Int64 = 1_795_575_590_123_456_789
    private let topic = "sensor-logger"

    private func message(_ entries: String...) -> String {
        #"{"messageId":7,"sessionId":"s","deviceId":"abc-1","payload":[\#(entries.joined(separator: ","))]}"#
    }

    private func vector(_ name: String, _ x: Double, _ y: Double, _ z: Double, time: Int64 = time) -> String {
        #"{"name":"\#(name)","time":\#(time),"values":{"x":\#(x),"y":\#(y),"z":\#(z)},"accuracy":3}"#
    }

    private func adapter(_ axes: SensorLoggerSettings.Axes = .android) -> SensorLoggerAdapter {
        var settings = SensorLoggerSettings()
        settings.axes = axes
        return SensorLoggerAdapter(settings)
    }

    /// Returns the acceleration of a message in g.
    private func acceleration(_ text: String, _ axes: SensorLoggerSettings.Axes) throws -> [Double] {
        let reading = try adapter(axes).translate(topic, text).readings("motion/accelerometer").first
        return ["x", "y", "z"].map { reading?.number($0) ?? .nan }
    }

    @Test("a phone at rest, face up, measures (0, 0, −1) g with the axes of both systems")
    func atRest() throws {
        #expect(try acceleration(message(vector("totalacceleration", 0, 0, 9.80665)), .android) == [0, 0, -1])
        let android = message(vector("accelerometer", 0, 0, 0), vector("gravity", 0, 0, 9.80665))
        #expect(try acceleration(android, .android) == [0, 0, -1])
        let ios = message(vector("accelerometer", 0, 0, 0), vector("gravity", 0, 0, -9.80665))
        #expect(try acceleration(ios, .ios) == [0, 0, -1])
        #expect(try acceleration(message(vector("accelerometeruncalibrated", 0, 0, 9.80665)), .android) == [0, 0, -1])
        #expect(try acceleration(message(vector("accelerometeruncalibrated", 0, 0, -1)), .ios) == [0, 0, -1])
    }

    @Test("a phone that stands upright measures −1 g along y, and a push to the right −1 g along x")
    func upright() throws {
        #expect(try acceleration(message(vector("totalacceleration", 0, 9.80665, 0)), .android) == [0, -1, 0])
        // Accelerated by 1 g to the right, face up: Android measures +x, iOS −x.
        let android = message(vector("accelerometer", 9.80665, 0, 0), vector("gravity", 0, 0, 9.80665))
        let ios = message(vector("accelerometer", -9.80665, 0, 0), vector("gravity", 0, 0, -9.80665))
        #expect(try acceleration(android, .android) == [-1, 0, -1])
        #expect(try acceleration(ios, .ios) == [-1, 0, -1])
    }

    @Test("in free fall the acceleration is 0")
    func freeFall() throws {
        let text = message(vector("accelerometer", 0, 0, -9.80665), vector("gravity", 0, 0, 9.80665))
        #expect(try acceleration(text, .android).map { abs($0) } == [0, 0, 0])
    }

    @Test("the axes can be set for a single device")
    func axesOfDevice() throws {
        var settings = SensorLoggerSettings()
        settings.axesOfDevice = ["abc-1": .ios]
        let text = message(vector("accelerometer", 0, 0, 0), vector("gravity", 0, 0, -9.80665))
        let reading = try SensorLoggerAdapter(settings).translate(topic, text).readings("motion/accelerometer").first
        #expect(reading?.number("z") == -1)
    }

    @Test("gravity and acceleration are added if their times are near, and a measured total has priority")
    func pairs() throws {
        let micro = message(
            vector("accelerometer", 1, 0, 0), vector("gravity", 0, 0, 9.80665, time: Self.time + 2000))
        #expect(try adapter().translate(topic, micro).readings("motion/accelerometer").count == 1)
        let far = message(
            vector("accelerometer", 1, 0, 0), vector("gravity", 0, 0, 9.80665, time: Self.time + 50_000_000))
        let waiting = try adapter().translate(topic, far)
        #expect(waiting.readings("motion/accelerometer").isEmpty)
        #expect(waiting.reports.first?.accelerationParts.count == 2)
        let both = message(
            vector("accelerometer", 1, 0, 0), vector("gravity", 0, 0, 9.80665),
            vector("totalacceleration", 0, 0, 9.80665))
        #expect(try adapter().translate(topic, both).readings("motion/accelerometer").count == 1)
        #expect(try acceleration(both, .android) == [0, 0, -1])
    }

    @Test("a value that cannot be read costs only itself, and a time in another unit is refused with the reason")
    func partialValues() throws {
        let report = try #require(
            try adapter().translate(
                topic,
                message(
                    #"{"name":"location","time":"1795575590000000000","values":{"latitude":"51.5","longitude":0,"speed":"","bearing":NaN}}"#
                )
            ).reports.first)
        #expect(report.readings.first?.values.map(\.column) == ["lat", "lon"])
        #expect(report.readings.first?.time == 1_795_575_590_000_000)
        #expect(report.omissions.count == 2)
        let error = #expect(throws: Refusal.self) {
            try adapter().translate(topic, message(vector("gyroscope", 0, 0, 0, time: 1_795_575_590_123)))
        }
        #expect(
            error?.description
                == "'time' of gyroscope is 1795575590123, which is no plausible time in ns, but one in ms")
    }

    @Test("of several counts of one time the last one is stored")
    func counts() throws {
        let translation = try adapter().translate(
            topic,
            message(
                #"{"name":"pedometer","time":1795575590000000000,"values":{"steps":5}}"#,
                #"{"name":"pedometer","time":1795575590000000000,"values":{"steps":7}}"#))
        #expect(translation.readings("x/sensorlogger/steps").map { $0.number("total") } == [7])
    }

    @Test("a picture is skipped and the rest is kept, but not more than the limit")
    func pictures() throws {
        let picture = #"{"name":"camera","time":1,"values":{"image":"\#(String(repeating: "A", count: 1_300_000))"}}"#
        let report = try #require(
            try adapter().translate(topic, message(vector("gyroscope", 0, 0, 0), picture)).reports.first)
        #expect(report.readings.map(\.stream) == ["motion/gyroscope"])
        #expect(report.omissions == ["large texts and lists of 1300002 bytes, such as pictures, are not stored"])
        let large = String(repeating: " ", count: 1 << 20) + message(vector("gyroscope", 0, 0, 0))
        #expect(adapter().refusal(topic, large) == .malformed)
    }

    @Test("a large list of numbers is skipped and the rest is kept")
    func largeList() throws {
        let numbers = Array(repeating: "0.125", count: 200_000).joined(separator: ",")
        for list in ["[\(numbers)]", "[[\(numbers)],[1]]"] {
            let part = #"{"name":"audio","time":1,"values":{"level":\#(list)}}"#
            let report = try #require(
                try adapter().translate(topic, message(part, vector("gyroscope", 0, 0, 0))).reports.first)
            #expect(report.readings.map(\.stream) == ["motion/gyroscope"])
            #expect(report.omissions.count == 1 && report.omissions[0].hasPrefix("large texts and lists of 1200"))
        }
    }

    @Test("nanoseconds are rounded to the nearest µs")
    func times() throws {
        let text = message(
            vector("gyroscope", 0.1, -0.2, 0.3), vector("gyroscope", 0, 0, 0, time: Self.time - 789 + 499),
            vector("gyroscope", 0, 0, 0, time: Self.time - 789 + 500))
        let translation = try adapter().translate(topic, text)
        #expect(
            translation.readings("motion/gyroscope").map(\.time) == [
                1_795_575_590_123_457, 1_795_575_590_123_456, 1_795_575_590_123_457,
            ])
        #expect(translation.readings("motion/gyroscope").first?.number("y") == -0.2)
        #expect(translation.reports.first?.writtenAt?.microseconds == 1_795_575_590_123_457)
        #expect(translation.reports.first?.sequence == MessageNumber(session: "s", number: 7))
    }

    @Test("the uncalibrated magnetic field has priority over the calibrated one")
    func magnetometer() throws {
        let calibrated = message(vector("magnetometer", 1, 2, 3))
        #expect(try adapter().translate(topic, calibrated).readings("motion/magnetometer").first?.number("z") == 3)
        let both = message(vector("magnetometer", 1, 2, 3), vector("magnetometeruncalibrated", 4, 5, 6))
        #expect(try adapter().translate(topic, both).readings("motion/magnetometer").map { $0.number("z") } == [6])
    }

    @Test("location, pressure, battery and compass are converted, and negative accuracies are unknown")
    func others() throws {
        let text = message(
            #"{"name":"location","time":1795575590000000000,"values":{"latitude":51.5,"longitude":-0.1,"altitude":80,"altitudeAboveMeanSeaLevel":35,"speed":1.5,"bearing":-1,"horizontalAccuracy":4,"verticalAccuracy":-1}}"#,
            #"{"name":"barometer","time":1795575590000000000,"values":{"pressure":1013.25,"relativeAltitude":-0.5}}"#,
            #"{"name":"battery","time":1795575590000000000,"values":{"batteryLevel":0.8,"batteryState":"unplugged","lowPowerMode":false}}"#,
            #"{"name":"compass","time":1795575590000000000,"values":{"magneticBearing":359.5}}"#,
            #"{"name":"microphone","time":1795575590000000000,"values":{"dBFS":-30}}"#)
        let translation = try adapter().translate(topic, text)
        let location = try #require(translation.readings("location").first)
        #expect(location.number("alt") == 35, "not the height above the ellipsoid")
        #expect(location.number("speed") == 1.5)
        #expect(location.number("hacc") == 4)
        #expect(location.number("vacc") == nil)
        #expect(location.number("course") == nil)
        #expect(translation.readings("pressure").first?.number("pressure") == 1013.25)
        #expect(translation.readings("altitude").first?.number("altitude") == -0.5)
        #expect(translation.readings("battery").first?.word("state") == "discharging")
        #expect(translation.readings("heading").first?.number("magnetic") == 359.5)
        #expect(translation.reports.first?.readings.count == 5)
    }

    @Test("a topic with one more level names the device")
    func topics() throws {
        let text = message(vector("gyroscope", 0, 0, 0))
        #expect(try adapter().translate(topic, text).reports.first?.sender.description == "sensorlogger/abc-1")
        #expect(try adapter().translate(topic + "/bob", text).reports.first?.sender.description == "sensorlogger/bob")
    }

    @Test("malformed messages are refused, and invalid measurements beside valid ones are left out")
    func malformed() throws {
        #expect(adapter().refusal(topic, "{}") == .malformed)
        #expect(adapter().refusal(topic, #"{"payload":[]}"#) == .unknownSender)
        #expect(adapter().refusal(topic, message(#"{"name":"gyroscope","time":1.5,"values":{}}"#)) == .malformed)
        #expect(adapter().refusal(topic, message(#"{"name":"gyroscope","time":5,"values":{"x":1}}"#)) == .malformed)
        #expect(
            adapter().refusal(
                topic, message(#"{"name":"location","time":5,"values":{"latitude":91,"longitude":0}}"#)) == .malformed)
        let mixed = try adapter().translate(topic, message("5", vector("gyroscope", 0, 0, 0)))
        #expect(mixed.reports.first?.omissions.count == 1)
        #expect(mixed.reports.first?.readings.count == 1)
    }
}
