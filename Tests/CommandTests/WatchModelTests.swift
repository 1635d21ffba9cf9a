import Foundation
import LockstepCommandLine
import LockstepModel
import LockstepWire
import Testing

@testable import lockstep

@Suite("WatchModel and its output")
struct WatchModelTests {
    private var model = WatchModel(root: .standard, device: nil)
    private let left = DeviceAddress(group: .standard, device: DeviceID(unchecked: "left"))

    @Test("rates are correct from the first batch, and are averaged over five seconds")
    mutating func rates() throws {
        for second in 0..<8 {
            receive(100, at: second)
            let rate = try #require(model.devices[left]).rate(of: .accelerometer, at: moment(second).boot + 900_000)
            #expect(rate == 100, "after \(second) s")
        }
        let device = try #require(model.devices[left])
        #expect(device.rate(of: .accelerometer, at: moment(11).boot) == 20)
        #expect(device.rate(of: .accelerometer, at: moment(20).boot) == 0)
    }

    @Test("backlog has its own rate and is not included in the rate of a stream")
    mutating func backlog() throws {
        receive(100, at: 0)
        receive(700, at: 0, live: false)
        let device = try #require(model.devices[left])
        #expect(device.rate(of: .accelerometer, at: moment(0).boot) == 100)
        #expect(device.backlogRate(at: moment(0).boot) == 700)
    }

    @Test("a new connection resets the rates")
    mutating func reconnect() throws {
        for second in 0..<5 { receive(100, at: second) }
        model.didConnect()
        #expect(try #require(model.devices[left]).rate(of: .accelerometer, at: moment(5).boot) == 0)
        #expect(model.streams == [.accelerometer])
        receive(100, at: 6)
        #expect(try #require(model.devices[left]).rate(of: .accelerometer, at: moment(6).boot) == 100)
    }

    @Test("a device with a group is watched only in that group, and a device without one in all groups")
    mutating func selection() throws {
        for (text, expected) in [("left", 2), ("lab/left", 1), ("lab/right", 0)] {
            model = WatchModel(root: .standard, device: try DeviceArgument(parsing: text))
            for group in ["default", "lab"] {
                _ = model.handle(
                    topic: "lockstep/\(group)/left/presence", payload: Data(#"{"phase":"foreground","at":1}"#.utf8),
                    at: moment(0))
            }
            #expect(model.devices.count == expected, "\(text)")
        }
    }

    @Test("a heartbeat without a change is not an event, and the last will of an older session is ignored")
    mutating func presence() throws {
        #expect(publish(.foreground, session: 2, at: 1) != nil)
        #expect(publish(.foreground, session: 2, at: 2) == nil)
        #expect(publish(.lost, session: 1, at: 3) == nil)
        #expect(model.devices[left]?.presence?.phase == .foreground)
        #expect(publish(.lost, session: 2, at: 4) != nil)
        #expect(model.devices[left]?.presence?.phase == .lost)
    }

    @Test("an unreadable message is an event with the reason")
    mutating func unreadable() throws {
        let event = model.handle(topic: "lockstep/default/left/state", payload: Data("{".utf8), at: moment(0))
        guard case .unreadable(let topic, let reason) = event else {
            Issue.record("\(String(describing: event))")
            return
        }
        #expect(topic == "lockstep/default/left/state")
        #expect(reason.hasPrefix("not valid JSON"))
    }

    @Test("the screen has one line per device, a column per received stream, and the problems below")
    mutating func screen() throws {
        let transition = LifecycleTransition(
            from: nil, to: .active, since: moment(0).wall - 60_000_000, reason: "start", seq: 1)
        _ = handle("state", StateJSON.encode(transition), at: 0)
        _ = publish(.foreground, session: 1, at: 0, sources: ["gpsd": "no \u{1B}[31mfix", "simulate:1": "running"])
        receive(100, at: 0)
        let display = WatchDisplay(terminal: Terminal(isInteractive: true, hasColours: false))
        func lines(columns: Int) -> [String] {
            display.lines(model, connection: "mqtt://localhost:1883", columns: columns, at: moment(0))
        }
        #expect(
            lines(columns: 80) == [
                "lockstep watch  mqtt://localhost:1883  2023-11-14T22:13:20Z",
                "",
                "DEVICE        STATE   AGE  ACCELEROMETER  LAST  PHASE",
                "default/left  active  60s            100    0s  foreground",
                "",
                // Control characters from the network must not reach the terminal.
                "default/left  gpsd: no \u{FFFD}[31mfix",
                "",
                "Rates in samples/s. Press Ctrl-C to exit.",
            ])
        #expect(lines(columns: 57)[2] == "DEVICE        STATE   AGE  ACC  LAST  PHASE")
        #expect(lines(columns: 57)[4] == "ACC accelerometer")
        #expect(lines(columns: 58)[2] == "DEVICE        STATE   AGE  ACCELEROMETER  LAST  PHASE")
    }

    @Test("long names of devices are shortened if the table is too wide for the screen")
    mutating func longNames() throws {
        let long = DeviceAddress(
            group: .standard, device: DeviceID(unchecked: String(repeating: "x", count: 60) + "-7"))
        let transition = LifecycleTransition(from: nil, to: .active, since: moment(0).wall, reason: "start", seq: 1)
        for device in [left, long] {
            _ = model.handle(
                topic: "lockstep/\(device)/state", payload: Data(StateJSON.encode(transition)), at: moment(0))
        }
        let display = WatchDisplay(terminal: Terminal(isInteractive: true, hasColours: false))
        func lines(columns: Int) -> [String] {
            display.lines(model, connection: "", columns: columns, at: moment(0)).filter { $0.hasPrefix("default/") }
        }
        #expect(lines(columns: 200).last?.hasPrefix("default/\(long.device)  active") == true)
        let narrow = lines(columns: 60)
        #expect(narrow.first?.hasPrefix("default/left ") == true)
        #expect(narrow.last?.hasPrefix("default/x") == true && narrow.last?.contains("…xxx") == true)
        #expect(narrow.allSatisfy { $0.count <= 60 && $0.contains("  active  ") }, "\(narrow)")
        #expect(lines(columns: 10).last?.hasPrefix("default/xx…xxxxxxx-7  active") == true, "\(lines(columns: 10))")
    }

    @Test("the counters of a collector are unknown until its second report")
    mutating func counters() throws {
        for (at, stored, text) in [(0, 0, "stored –"), (0, 5, "stored 5"), (10, 0, "stored 0")] {
            var health = CollectorHealth(
                status: .online, at: moment(at).wall, devices: 0, stored: stored, duplicates: 0, conflicts: 0,
                rejected: 0)
            health.started = moment(0).wall
            #expect(WatchDisplay.counts(of: health).hasPrefix(text + " "))
        }
    }

    @Test("every built-in stream has a column once its samples arrive")
    mutating func allStreams() throws {
        for stream in SensorStream.builtIn.reversed() {
            let values = stream.columns.map { _ in 0.0 }
            var samples = SampleBlock(stream: stream)
            samples.append(time: moment(0).wall, values: values)
            _ = handle(stream.name, BatchJSON.encode(Batch(position: nil, samples: samples)), at: 0)
        }
        #expect(model.streams == SensorStream.builtIn)
        let display = WatchDisplay(terminal: Terminal(isInteractive: true, hasColours: false))
        let header = display.lines(model, connection: "", columns: 500, at: moment(0))[2]
        for stream in SensorStream.builtIn { #expect(header.contains("  \(stream.table.uppercased())  ")) }
        // The legend of abbreviations is not cut off.
        let legend = display.lines(model, connection: "", columns: 80, at: moment(0)).drop { !$0.hasPrefix("ACC acc") }
            .prefix { !$0.isEmpty }
        #expect(legend.count > 1 && legend.last?.hasSuffix("BAT battery") == true, "\(legend)")
        #expect(legend.allSatisfy { $0.count <= 80 }, "\(legend)")
    }

    @Test("rates are one line as text or JSON, and an active device without samples has such a line")
    mutating func rateLines() throws {
        receive(100, at: 0)
        let device = try #require(model.devices[left])
        #expect(
            WatchLines(isJSON: false).rates(of: left, device, at: moment(0))
                == "2023-11-14T22:13:20Z  rates       default/left  motion/accelerometer 100/s\n")
        #expect(
            WatchLines(isJSON: true).rates(of: left, device, at: moment(0))
                == #"{"at":1700000000000000,"time":"2023-11-14T22:13:20.000000Z","event":"rates","group":"default","#
                + #""device":"left","rates":{"motion/accelerometer":100.0}}"# + "\n")
        #expect(WatchLines(isJSON: false).rates(of: left, device, at: moment(20)) == nil)
        let transition = LifecycleTransition(from: nil, to: .active, since: moment(0).wall, reason: "start", seq: 1)
        _ = handle("state", StateJSON.encode(transition), at: 20)
        #expect(
            WatchLines(isJSON: false).rates(of: left, try #require(model.devices[left]), at: moment(20))
                == "2023-11-14T22:13:40Z  rates       default/left  no samples\n")
    }

    private func moment(_ second: Int) -> Moment {
        let microseconds = Int64(second) * 1_000_000
        return Moment(
            wall: Timestamp(microseconds: 1_700_000_000_000_000 + microseconds), boot: 50_000_000 + microseconds,
            awake: 50_000_000 + microseconds)
    }

    private mutating func handle(_ channel: String, _ payload: [UInt8], at second: Int) -> WatchModel.Event? {
        model.handle(topic: "lockstep/default/left/\(channel)", payload: Data(payload), at: moment(second))
    }

    private mutating func receive(_ count: Int64, at second: Int, live: Bool = true) {
        let end = moment(second).wall.microseconds
        let times = (1...count).map { end - (count - $0) * 1_000_000 / count }
        let batch = Batch(position: nil, isLive: live, samples: block(times, x: times.map { _ in 0 }))
        _ = handle("motion/accelerometer", BatchJSON.encode(batch), at: second)
    }

    private mutating func publish(
        _ phase: Phase, session: Int64, at second: Int, sources: [String: String] = [:]
    ) -> WatchModel.Event? {
        let presence = Presence(
            epoch: nil, session: session, phase: phase, at: moment(second).wall, sources: sources)
        return handle("presence", PresenceJSON.encode(presence), at: second)
    }
}
