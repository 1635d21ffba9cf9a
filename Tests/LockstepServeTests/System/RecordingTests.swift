import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepServe

@Suite("Sessions by HTTP")
struct RecordingTests {
    private let path = "/api/v1/sessions"

    @Test("a session is started, marked, edited, stopped and exported as by the command, and deleted")
    func session() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            _ = try system.startAgent("arm", ["--group", "lab"])
            let server = try await TestServer(system)
            try await expectEventually("the device") {
                try await server.get("/api/v1/devices/lab/arm").json["state"] as? String == "active"
            }
            #expect(try await server.get(path).body == "{\"sessions\":[],\"is_cut\":false}\n")
            let body = #"{"name":"Walk 3","rates":{"motion/accelerometer":50},"labels":{"subject":"7"}}"#
            let started = try await server.post("\(path)/lab", body)
            #expect(started.status == 202 && started.json["id"] as? String == "walk-3", "\(started.body)")
            let session = "\(path)/lab/walk-3"
            func state() async throws -> [String: Any] { try await server.get(session).json }
            try await expectEventually("the recording, with the rate that arrives") {
                let device = (try await state()["devices"] as? [[String: Any]])?.first
                let hz = (device?["rates"] as? [String: Any])?["motion/accelerometer"] as? Double
                return try await state()["state"] as? String == "recording" && hz ?? 0 > 40
            }
            // The session has no end: what is exported ends now.
            try await expectEventually("samples") { try await server.get("\(session)/export").status == 200 }
            #expect(try await server.post("\(session)/mark", #"{"id":"m","text":"turn"}"#).status == 202)
            let change = #"{"labels":{"subject":"8","shoes":"new"},"note":"wet"}"#
            #expect(try await server.post("\(session)/edit", change).status == 202)
            #expect(try await server.post("\(session)/stop", "{}").status == 202)
            try await expectEventually("the complete session") {
                let state = try await state()
                return state["state"] as? String == "complete" && state["note"] as? String == "wet"
                    && (state["markers"] as? [[String: Any]])?.first?["text"] as? String == "turn"
            }
            #expect(try await state()["streams"] == nil)
            let streams = try await server.get("\(session)?gaps=true").json["streams"] as? [[String: Any]]
            #expect(streams?.count == 1 && streams?.first?["stream"] as? String == "motion/accelerometer")
            #expect(streams?.first?["samples"] as? Int ?? 0 > 0 && streams?.first?["gaps"] is [Any])
            #expect(try await server.get("\(session)?gaps=maybe").status == 400)
            #expect(
                try await server.get("\(path)?search=SHOES%3Dnew%20walk").body.contains(
                    "\"marker_count\":1,\"markers\":[]"))
            #expect(try await server.get("\(path)?search=subject%3D7").body.contains("\"sessions\":[]"))
            // A second session of the same name has another id.
            #expect(try await server.post("\(path)/lab", body).json["id"] as? String == "walk-3-2")

            for format in ["mcap", "xdf"] {
                let (command, download) = ("\(system.folder)/a.\(format)", "\(system.folder)/b.\(format)")
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["export", "session", "walk-3", "--store", "sqlite:\(system.storePath)", "--out", command])
                #expect(run.status == 0, "\(run.text)")
                let curl = try await RunningProgram.run(
                    "/usr/bin/curl",
                    ["--silent", "--fail", "--output", download, "\(server.url)\(session)/export?format=\(format)"])
                #expect(curl.status == 0, "\(curl.text)")
                #expect(FileManager.default.contentsEqual(atPath: command, andPath: download), "\(format)")
            }
            let times = try await state()
            let (start, end) = (times["start"] as? Int ?? 0, times["end"] as? Int ?? 0)
            let half = #"{"t":\#((start + end) / 2),"id":"back","name":"Way back"}"#
            #expect(try await server.post("\(session)/split", half).status == 202)
            try await expectEventually("the second part") {
                let part = try await server.get("\(path)/lab/back").json
                return part["end"] as? Int == end && part["start"] as? Int == (start + end) / 2
                    && part["name"] as? String == "Way back"
            }
            #expect(try await server.post("\(session)/split", #"{"t":5}"#).status == 400)
            #expect(try await server.post("\(session)/delete", "{}").status == 202)
            try await expectEventually("no session") { try await server.get(session).status == 404 }
        }
    }

    @Test("invalid requests about sessions, and those without the right, are refused with a reason")
    func refusals() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let server = try await TestServer(system)
            try await expectEventually("ready") { try await server.get("/readyz").status == 200 }
            for (body, reason) in [
                ("{}", "'name'"), ("turn", "not a JSON object"), (#"{"name":"a","rates":{"no":1}}"#, "no"),
                (#"{"name":"a","devices":[]}"#, "'devices'"),
                (#"{"name":"a","start":-1}"#, "'start'"), (#"{"name":"a","start":9000000000000000000}"#, "'start'"),
                (#"{"name":"a","start":-9223372036854775809}"#, "'start'"),
            ] {
                let answer = try await server.post("\(path)/lab", body)
                #expect(answer.status == 400 && answer.detail.contains(reason), "\(body): \(answer.body)")
            }
            #expect(try await server.get("\(path)/lab/none").status == 404)
            #expect(try await server.post("\(path)/lab/none/stop", "{}").status == 404)
            #expect(try await server.get("\(path)/lab/none/export?format=csv").status == 400)
            // No device takes part, so the session begins, and has no samples.
            let empty = #"{"name":"empty","devices":["nobody"],"within_s":0}"#
            #expect(try await server.post("\(path)/lab", empty).status == 202)
            try await expectEventually("the session") { try await server.get("\(path)/lab/empty").status == 200 }
            #expect(try await server.post("\(path)/lab/empty/start", "{}").status == 404)
            #expect(try await server.post("\(path)/lab/empty/mark", "{}").status == 400)
            let export = try await server.get("\(path)/lab/empty/export")
            #expect(export.status == 409 && export.detail.contains("empty"), "\(export.body)")
            let reader = try await TestServer(system, ["--read-only"])
            try await expectEventually("ready") { try await reader.get("/readyz").status == 200 }
            #expect(try await reader.post("\(path)/lab", #"{"name":"a"}"#).status == 403)
            #expect(try await reader.get("\(path)/lab/empty").status == 200)
        }
    }

    @Test("sizes of streams are those of 'lockstep devices --size'")
    func sizes() async throws {
        try await withSystem { system in
            // They fill pages, so that they do not wait for a merge.
            let samples = SampleBlock(
                stream: .pressure, times: Array(1...10_000), columns: [(1...10_000).map(Double.init)])
            let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "arm"))
            let batch = ReceivedBatch(
                device: device, batch: Batch(position: nil, samples: samples), receivedAt: Timestamp(microseconds: 1))
            _ = try SQLiteStore(path: system.storePath).write(IngestGroup(batches: [batch]))
            let server = try await TestServer(system)
            try await expectEventually("a size") {
                let sizes = try await server.get("/api/v1/sizes").json["sizes"] as? [[String: Any]] ?? []
                return sizes.contains {
                    $0["device"] as? String == "lab/arm" && $0["bytes"] as? Int ?? 0 > 0
                        && $0["samples"] as? Int ?? 0 > 0
                }
            }
        }
    }
}

@Suite("Search of sessions")
struct RecordingSearchTests {
    @Test("each word is part of the name, the group, the id or a label")
    func words() {
        var session = RecordingSession(
            key: .init(group: GroupID(unchecked: "lab"), id: SessionID(unchecked: "walk-3")), name: "Long walk",
            created: Timestamp(microseconds: 0))
        session.labels = ["subject": "7", "shoes": "New"]
        for text in ["", "long", "walk-3", "lab", "subject=7", "shoes=new LONG", "=7"] {
            #expect(session.matches(text), "\(text)")
        }
        for text in ["subject=8", "long run", "77"] { #expect(!session.matches(text), "\(text)") }
    }
}
