import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@Suite(
    "Recordings, end to end",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"),
    .enabled(if: recordingsFolder != nil, "the recordings are missing beside this checkout"))
struct RecordingTests {
    @Test("every row of recorded walks is stored unchanged")
    func walks() async throws {
        let folder = try #require(recordingsFolder) + "/walks"
        let files = [
            "Nexus_Jamie_Hard_InHand_1.csv", "Pixel_Jamie_Hard_Purse_1.csv", "Samsung_Dario_Hard_ArmBand_1.csv",
        ]
        try await withSystem { system in
            let collector = try system.startCollector()
            let reader = try await system.reader()
            let agents = try files.enumerated().map { index, file in
                try system.startAgent(
                    "walk-\(index)", source: "replay:\(folder)/\(file)", ["--speed", "max", "--stamp", "own"])
            }
            for (index, (file, agent)) in zip(files, agents).enumerated() {
                // A replaying agent ends when all batches are acknowledged.
                #expect(await agent.waitForExit(within: .seconds(120)) == 0, "\(agent.text)\(collector.text)")
                let rows = try csv(folder + "/" + file)
                var stored = 0
                var differing = 0
                try reader.query(stream: .accelerometer, devices: [DeviceID(validating: "walk-\(index)")]) { row in
                    let expected = stored < rows.count ? rows[stored] : []
                    if [Double(row.time.microseconds)] + row.values != expected { differing += 1 }
                    stored += 1
                }
                #expect(stored == rows.count, "\(file)")
                #expect(differing == 0, "\(file)")
            }
        }
    }

    @Test(
        "every fix of a GPS receiver's log is stored as gpsd reports it",
        .enabled(if: Programs.isInstalled("gpsfake"), "gpsd-tools is not installed"))
    func fixes() async throws {
        let log = try #require(recordingsFolder) + "/gps/quectel.log"
        let expected = try distinctFixes(log + ".chk")
        #expect(expected.count > 10)
        try await withSystem { system in
            _ = try system.startCollector()
            let port = try freePort()
            let agent = try system.startAgent("receiver", source: "gpsd://127.0.0.1:\(port)")
            #expect(await agent.waitForOutput("connected to"))
            // gpsfake repeats the log, because the agent may connect after the first fixes.
            let gpsfake = try RunningProgram(
                Programs.installed("gpsfake") ?? "", ["-c", "0.02", "-q", "-P", "\(port)", log],
                environment: ["TMPDIR": system.folder])
            defer { gpsfake.signalGroup(SIGKILL) }
            let reader = try await system.reader()
            var rows: [(at: Int64, position: [Double])] = []
            try await expectEventually("\(Set(rows.map(\.at)).count) of \(expected.count) fixes", within: .seconds(120))
            {
                rows = []
                try reader.query(stream: .location) { row in
                    guard let at = row.values.last, !at.isNaN, !row.values[0].isNaN else { return }
                    rows.append((withoutRollover(Int64(at)), Array(row.values.prefix(2))))
                }
                return Set(rows.map(\.at)).isSuperset(of: expected.keys)
            }
            gpsfake.signalGroup(SIGKILL)
            await gpsfake.stop(SIGKILL)
            for row in rows {
                // If several reports have the same time, the stored fix is one of them.
                #expect(expected[row.at]?.contains(row.position) == true, "\(row)")
            }
            let repeated = zip(rows, rows.dropFirst()).count { $0.at == $1.at }
            #expect(repeated == 0, "a repeated time is one fix")
        }
    }

    private func csv(_ path: String) throws -> [[Double]] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").dropFirst()
            .map { $0.split(separator: ",").map { Double($0) ?? .nan } }
    }

    /// Returns the positions that gpsd reports for each time in its log.
    private func distinctFixes(_ path: String) throws -> [Int64: [[Double]]] {
        var fixes: [Int64: [[Double]]] = [:]
        for line in try String(contentsOfFile: path, encoding: .utf8).split(whereSeparator: \.isNewline) {
            guard line.hasPrefix("{"),
                let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                object["class"] as? String == "TPV", let mode = object["mode"] as? Int, mode >= 2,
                let text = object["time"] as? String, let time = Timestamp(text),
                let lat = object["lat"] as? Double, let lon = object["lon"] as? Double
            else { continue }
            fixes[withoutRollover(time.microseconds), default: []].append([lat, lon])
        }
        return fixes
    }

    /// Returns a time modulo the GPS week rollover. Some receivers report only the week modulo 1,024, and gpsd guesses
    /// the cycle from today's date.
    private func withoutRollover(_ time: Int64) -> Int64 {
        let cycle: Int64 = 1024 * 7 * 86_400_000_000
        return ((time % cycle) + cycle) % cycle
    }
}
