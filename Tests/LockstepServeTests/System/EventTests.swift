import Foundation
import LockstepTestSupport
import Testing

@Suite("Event streams of lockstep-serve")
struct EventTests {
    private static func state(_ state: String, _ seq: Int) -> String {
        #"{"state":"\#(state)","previous":null,"reason":"test","since":\#(seq),"seq":\#(seq)}"#
    }

    @Test("a late client gets the current states, and a returning one what it has missed")
    func resumption() async throws {
        try await withSystem { system in
            let client = try await system.connect(["none"])
            #expect(await client.publish("lockstep/g/a/state", Self.state("active", 1), isRetained: true))
            let server = try await TestServer(system)
            try await expectEventually("the device") { try await server.get("/api/v1/devices/g/a").status == 200 }
            let first = try server.events("/api/v1/states")
            #expect(await first.waitForOutput("event: ready"))
            #expect(first.text.contains(#""state":"active""#) && first.text.contains(#""snapshot":true"#))
            #expect(await client.publish("lockstep/g/a/state", Self.state("inactive", 2), isRetained: true))
            #expect(await first.waitForOutput(#""state":"inactive""#))
            let id = try #require(first.text.matches(of: /id: (\S+)/).last.map { String($0.1) })
            await first.stop()
            #expect(await client.publish("lockstep/g/a/state", Self.state("background", 3), isRetained: true))
            try await expectEventually("the change") {
                try await server.get("/api/v1/devices/g/a").json["state"] as? String == "background"
            }
            let second = try server.events("/api/v1/states", ["-H", "Last-Event-ID: \(id)"])
            #expect(await second.waitForOutput("event: ready"))
            #expect(second.text.contains(#""state":"background""#) && !second.text.contains("inactive"))
            #expect(second.text.contains(#""snapshot":false"#) && !second.text.contains(#""snapshot":true"#))
            await second.stop()
            // An id of another run is not one of this run.
            let third = try server.events("/api/v1/states", ["-H", "Last-Event-ID: other-1"])
            #expect(await third.waitForOutput(#""snapshot":true"#))
            await third.stop()
        }
    }

    @Test("event streams continue after the broker was killed and started again")
    func killedBroker() async throws {
        try await withSystem { system in
            _ = try system.startAgent("a")
            let server = try await TestServer(system)
            let live = try server.events("/api/v1/live?device=default/a&stream=accelerometer&hz=20")
            #expect(await live.waitForOutput("event: samples"))
            let fleet = try server.events("/api/v1/fleet")
            #expect(await fleet.waitForOutput("event: devices"))
            await system.broker.stop(SIGKILL)
            try await expectEventually("not ready") { try await server.get("/readyz").detail.contains("broker:") }
            let before = live.text.count
            try await system.broker.start()
            await expectEventually("new samples") { live.text.count > before + 1000 }
            #expect(live.isRunning && fleet.isRunning)
            await live.stop()
            await fleet.stop()
        }
    }

    /// Publishes more than the buffers of the sockets and the queue of a subscriber hold, 27 KB a batch.
    private static func flood(_ client: TestClient, batches: Int = 600) async throws {
        let values = "[" + Array(repeating: "0.123456", count: 1000).joined(separator: ",") + "]"
        for number in 0..<batches {
            let batch =
                #"{"v":1,"epoch":"e","seq":\#(number + 1),"t":\#(number * 1_000_000 + 1000),"dt":1000,"#
                + #""x":\#(values),"y":\#(values),"z":\#(values)}"#
            guard await client.publish("lockstep/g/a/motion/accelerometer", batch) else {
                throw ProgramError("the broker does not accept a batch")
            }
        }
    }

    @Test("a slow reader receives the number of samples that it missed")
    func slowReader() async throws {
        try await withSystem { system in
            let client = try await system.connect(["none"])
            let server = try await TestServer(system)
            #expect(await client.publish("lockstep/g/a/pressure", ServerTests.batch(0, samples: 10)))
            try await expectEventually("the device") { try await server.get("/api/v1/devices/g/a").status == 200 }
            let slow = try RawConnection(port: server.port, receiveBuffer: 4096)
            slow.write("GET /api/v1/live?device=*&hz=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try await expectEventually("the subscriber") { try await server.liveSubscribers() == 1 }
            // It has to end before the server gives up the reader.
            try await Self.flood(client, batches: 150)
            #expect(slow.read(until: "event: dropped").contains("event: dropped"))
        }
    }

    @Test("a client that goes away ends its query and its event stream")
    func goneClient() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let client = try await system.connect(["none"])
            for number in 0..<40 {
                #expect(await client.publish("lockstep/g/a/pressure", ServerTests.batch(number, samples: 10_000)))
            }
            let server = try await TestServer(system)
            try await expectEventually("the samples") {
                try await server.get("/api/v1/devices/g/a").json["samples"] as? Int == 400_000
            }
            let query = try RawConnection(port: server.port, receiveBuffer: 4096)
            query.write(
                "GET /api/v1/devices/g/a/streams/pressure?from=0&to=2600000000000&format=csv HTTP/1.1\r\n"
                    + "Host: localhost\r\n\r\n")
            #expect(query.read(until: "time,").contains("200 OK"))
            let events = try server.events("/api/v1/live?device=*")
            #expect(await events.waitForOutput("event: hello"))
            try await expectEventually("three") { try await server.metric("lockstep_serve_connections") == 3 }
            await events.stop(SIGKILL)
            query.close()
            try await expectEventually("one") { try await server.metric("lockstep_serve_connections") == 1 }
            #expect(try await server.liveSubscribers() == 0)
        }
    }
}

extension TestServer {
    /// The number of open streams of samples.
    fileprivate func liveSubscribers() async throws -> Double? {
        let name = "lockstep_serve_subscribers{kind=\"live\"} "
        return try await get("/metrics").body.split(separator: "\n").first { $0.hasPrefix(name) }
            .flatMap { Double($0.dropFirst(name.count)) }
    }
}
