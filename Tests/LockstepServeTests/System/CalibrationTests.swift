import Foundation
import LockstepTestSupport
import Testing

@Suite("The guided calibration of lockstep-serve")
struct CalibrationTests {
    private static let (lying, moving) = ("/api/v1/devices/default/lying", "/api/v1/devices/default/moving")

    /// The times of the leases of a device until their ends, in s.
    private func leases(_ server: TestServer, _ device: String, _ arguments: [String]) async throws -> [Double]? {
        let reply = try await server.post("\(device)/commands", #"{"describe":true}"#, arguments)
        let leases = (reply.json["describe"] as? [String: Any])?["leases"] as? [[String: Any]]
        return leases?.compactMap { ($0["until"] as? Double).map { $0 / 1e6 - Date().timeIntervalSince1970 } }
    }

    @Test(
        "steps lead to a calibration that the agent takes; a second run is refused, and the end of each one ends its leases"
    )
    func wholeRun() async throws {
        try await withSystem { system in
            let recording = system.folder + "/wrong.csv"
            try WrongRecording.text(repetitions: 60).write(toFile: recording, atomically: true, encoding: .utf8)
            // Faster than a person, so that the test is shorter.
            _ = try system.startAgent("lying", source: "replay:\(recording)", ["--speed", "4"])
            // A person who walks lays nothing down: this calibration does not end by itself.
            _ = try system.startAgent("moving")
            let tokens = system.folder + "/tokens"
            let (reader, operate) = (String(repeating: "r", count: 32), String(repeating: "o", count: 32))
            try "read \(reader)\noperate \(operate)\n".write(toFile: tokens, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: tokens)
            let server = try await TestServer(system, ["--token-file", tokens])
            let bearer = ["-H", "Authorization: Bearer \(operate)"]
            let post = ["--request", "POST"] + bearer
            for path in [Self.lying, Self.moving] {
                try await expectEventually("the device") { try await server.get(path, bearer).status == 200 }
            }
            let forbidden = try await server.get(
                "\(Self.moving)/calibration", ["--request", "POST", "-H", "Authorization: Bearer \(reader)"])
            #expect(forbidden.status == 403)
            #expect(try await server.get("/api/v1/devices/default/none/calibration", post).status == 404)

            let left = try server.events("\(Self.moving)/calibration", post)
            #expect(await left.waitForOutput(#""next":"1 of 9: "#))
            try await expectEventually("leases") { try await leases(server, Self.moving, bearer)?.count == 2 }
            // Three minutes for each of nine positions.
            #expect(try await leases(server, Self.moving, bearer)?.allSatisfy { $0 > 1200 && $0 < 1630 } == true)
            let refused = try await server.get("\(Self.moving)/calibration", post)
            #expect(
                refused.status == 409 && refused.detail.hasPrefix("somebody else is calibrating default/moving"),
                "\(refused)")
            await left.stop(SIGKILL)
            try await expectEventually("no leases") { try await leases(server, Self.moving, bearer) == [] }
            let next = try server.events("\(Self.moving)/calibration", post)
            #expect(await next.waitForOutput(#""next":"1 of 9: "#))
            await next.stop()

            let run = try server.events("\(Self.lying)/calibration", post)
            #expect(await run.waitForOutput("event: result", within: .seconds(180)), "\(run.text)")
            #expect(run.text.contains(#""next":"9 of 9: "#) && run.text.contains(#""next":null"#))
            let result = try #require(run.text.firstMatch(of: /event: result\ndata: (.*)\n/).map { String($0.1) })
            #expect(await run.waitForExit() == 0)
            try await expectEventually("no leases") { try await leases(server, Self.lying, bearer) == [] }
            let stored = try await server.post("\(Self.lying)/commands", #"{"calibrate":\#(result)}"#, bearer)
            #expect(stored.status == 200, "\(stored)")
            try await expectEventually("the calibration") {
                let device = try await server.get(Self.lying, bearer).json
                let offset = (device["calibration"] as? [String: Any])?["offset"] as? [Double]
                return offset.map { abs($0[0] - 0.08) < 0.002 } ?? false
            }
        }
    }
}
