import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "Pressure, altitude, heading and battery, end to end",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct EnvironmentSystemTests {
    private func rows(of stream: SensorStream, in reader: StoreReader) throws -> [SampleRow] {
        var rows: [SampleRow] = []
        try reader.query(stream: stream) { rows.append($0) }
        return rows
    }

    @Test("a simulated device publishes the four streams, and the collector stores them")
    func simulated() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            let agent = try system.startAgent("walker", ["--declination", "4"])
            let reader = try await system.reader()
            try await expectEventually("\(agent.text)") {
                try rows(of: .pressure, in: reader).count >= 3 && rows(of: .altitude, in: reader).count >= 3
                    && rows(of: .heading, in: reader).count >= 20 && rows(of: .battery, in: reader).count >= 1
            }
            #expect(try rows(of: .pressure, in: reader).allSatisfy { (900...1030).contains($0.values[0]) })
            #expect(try rows(of: .altitude, in: reader).allSatisfy { abs($0.values[0]) < 5 })
            for row in try rows(of: .heading, in: reader) {
                #expect((0..<360).contains(row.values[0]))
                let difference = remainder(row.values[1] - row.values[0], 360)
                #expect(abs(difference - 4) < 0.05)
            }
            let battery = try #require(rows(of: .battery, in: reader).first)
            #expect((0.2...1).contains(battery.values[0]) && [1, 2].contains(battery.values[1]))
        }
    }

    @Test("a barometer and a battery of the kernel are published and stored in our units")
    func kernel() async throws {
        try await withSystem { system in
            let tree = [
                "sys/bus/iio/devices/iio:device0/name": "bmp280",
                "sys/bus/iio/devices/iio:device0/in_pressure_input": "95.1",
                "sys/class/power_supply/BAT0/type": "Battery",
                "sys/class/power_supply/BAT0/capacity": "64",
                "sys/class/power_supply/BAT0/status": "Charging",
            ]
            for (name, text) in tree {
                let file = URL(fileURLWithPath: system.folder + "/" + name)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                try text.write(to: file, atomically: false, encoding: .utf8)
            }
            _ = try system.startCollector()
            let agent = try system.startAgent(
                "board", source: "iio",
                ["--source", "battery", "--sysfs-root", system.folder + "/sys", "--dev-root", system.folder])
            let reader = try await system.reader()
            try await expectEventually("\(agent.text)") {
                try rows(of: .altitude, in: reader).count >= 2 && rows(of: .battery, in: reader).count >= 1
            }
            #expect(try Set(rows(of: .pressure, in: reader).map(\.values)) == [[951]])
            #expect(try Set(rows(of: .altitude, in: reader).map(\.values)) == [[0]])
            #expect(try Set(rows(of: .battery, in: reader).map(\.values)) == [[0.64, 1]])
        }
    }

    @Test("every stream may be published by its device under the shipped access rules", arguments: SensorStream.builtIn)
    func access(stream: SensorStream) throws {
        func text(_ name: String) throws -> String {
            try String(contentsOfFile: Programs.source("broker-config/\(name)"), encoding: .utf8)
        }
        let channel = stream.name.hasPrefix("motion/") ? "motion/+" : stream.name
        #expect(try text("production.acl").split(separator: "\n").contains("pattern write lockstep/%u/\(channel)"))
        let subject = stream.name.hasPrefix("motion/") ? "motion.*" : stream.name
        #expect(try text("nats/common.conf").contains("\"lockstep.lab.arm-left.\(subject)\""))
    }
}
