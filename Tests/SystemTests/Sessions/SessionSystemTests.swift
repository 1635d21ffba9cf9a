import Foundation
import LockstepModel
import LockstepStore
import LockstepTestSupport
import LockstepWire
import Testing

@Suite("Sessions with the real programs")
struct SessionSystemTests {
    private func record(_ system: TestSystem, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(
            Programs.built("lockstep"), ["record"] + arguments + ["--broker", system.broker.url])
    }

    private func read(_ system: TestSystem, _ arguments: [String]) async throws -> (status: Int32, text: String) {
        try await RunningProgram.run(Programs.built("lockstep"), arguments + ["--store", "sqlite:\(system.storePath)"])
    }

    /// Starts agents, which simulate different bodies, and a client that has received samples of each.
    private func startAgents(
        _ names: [String], _ system: TestSystem
    ) async throws -> (agents: [String: RunningProgram], client: TestClient) {
        var agents: [String: RunningProgram] = [:]
        for (seed, name) in names.enumerated() {
            agents[name] = try system.startAgent(name, source: "simulate:\(seed)")
        }
        let client = try await system.connect()
        for name in names {
            await client.expectMessage { $0.topic == "lockstep/default/\(name)/motion/accelerometer" }
        }
        return (agents, client)
    }

    @Test("killed programs and a device that was offline leave a session complete, with its markers in place")
    func faults() async throws {
        try await withSystem { system in
            var collector = try system.startCollector()
            try await system.waitForSubscription()
            let names = ["left", "middle", "right"]
            var (agents, client) = try await startAgents(names, system)
            // A device that was stopped before is no part of a session of its group.
            let retired = try system.startAgent("retired", source: "simulate:9")
            await client.expectMessage { $0.topic == "lockstep/default/retired/motion/accelerometer" }
            await retired.stop()
            await client.expectMessage {
                $0.topic == "lockstep/default/retired/state" && $0.text.contains(#""state":"terminated""#)
            }
            let started = try await record(
                system, ["start", "walk 3", "--rate", "motion/accelerometer=200", "--label", "subject=7"])
            #expect(started.status == 0 && started.text.contains("walk-3: recording since"), "\(started.text)")
            // Any client can mark: here, with a text alone and twice with the same id.
            let topic = "lockstep/default/$session/walk-3"
            _ = await client.publish(topic + "/mark", "turn")
            for _ in 1...2 { _ = await client.publish(topic + "/mark", #"{"id":"a","text":"jump","value":2}"#) }
            // 'right' loses its network; 'left' and the collector are killed, and return.
            agents["right"]?.signal(SIGSTOP)
            await agents["left"]?.stop(SIGKILL)
            await collector.stop(SIGKILL)
            agents["left"] = try system.startAgent("left", source: "simulate:0")
            let broker = ["--broker", system.broker.url]
            let mark = try system.start("lockstep", ["record", "mark", "restart", "--session", "walk-3"] + broker)
            collector = try system.startCollector()
            #expect(await mark.waitForExit() == 0, "\(mark.text)")
            let stop = try system.start("lockstep", ["record", "stop"] + broker)
            await client.expectMessage { $0.topic == topic && $0.text.contains(#""state":"stopping""#) }
            agents["right"]?.signal(SIGCONT)
            #expect(await stop.waitForExit() == 0 && stop.text.contains(": complete"), "\(stop.text)")
            let session = try #require(try await system.reader().sessions().first)
            #expect(session.state == .complete && session.labels == ["subject": "7"])
            #expect(session.devices.keys.map(\.rawValue).sorted() == names)
            // Without an id, a marker that is delivered again because the collector was killed is another one.
            #expect(Set(session.markers.map(\.text)) == ["jump", "restart", "turn"])
            #expect(session.markers.filter { $0.text == "jump" }.count == 1)
            let (start, end) = (try #require(session.start), try #require(session.end))
            #expect(session.markers.allSatisfy { start < $0.time && $0.time < end })
            #expect(try await read(system, ["record", "list", "--label", "subject=7"]).text.contains("walk-3"))
            #expect(try await read(system, ["record", "show", "walk 3"]).status == 0)
            for name in names { await agents[name]?.stop() }
            let verified = try await system.verify(names)
            #expect(verified.status == 0, "\(verified.text)")
            // One folder that pandas reads.
            let out = system.folder + "/walk-3"
            let exported = try await read(system, ["export", "session", "walk 3", "--out", out])
            #expect(exported.status == 0, "\(exported.text)")
            let rows = try String(contentsOfFile: out + "/accelerometer.csv", encoding: .utf8).split(separator: "\n")
            let times = rows.dropFirst().compactMap { Int64($0.split(separator: ",")[3]) }
            #expect(times.count == rows.count - 1)
            #expect(times.allSatisfy { (start.microseconds..<end.microseconds).contains($0) })
            #expect(Set(rows.dropFirst().map { $0.split(separator: ",")[1] }) == Set(names.map { $0[...] }))
            #expect(try String(contentsOfFile: out + "/markers.csv", encoding: .utf8).contains(",jump,"))
            // It is divided at a marker, with its devices and labels.
            let split = try await record(system, ["split", "walk 3", "--marker", "restart"])
            #expect(split.status == 0 && split.text.contains("walk 3, 2 (default/walk-3-2): complete"), "\(split.text)")
            let parts = try await system.reader().sessions()
            let at = try #require(session.markers.first { $0.text == "restart" }?.time)
            let first = try #require(parts.first { $0.name == "walk 3" })
            let second = try #require(parts.first { $0.name == "walk 3, 2" })
            #expect(parts.count == 2 && first.start == start && first.end == at)
            #expect(second.start == at && second.end == end && second.markers.first?.text == "restart")
            #expect(first.markers + second.markers == session.markers && second.labels == session.labels)
            #expect(second.devices.keys == session.devices.keys && second.state == .complete)
        }
    }

    @Test("a request before a collector connects for the first time is sent again, and others are sent once")
    func lateCollector() async throws {
        try await withSystem { system in
            let client = try await system.connect()
            let start = try system.start(
                "lockstep", ["record", "start", "walk", "--at", "-1s", "--broker", system.broker.url])
            await client.expectMessage { $0.topic == "lockstep/default/$session/walk/start" }
            _ = try system.startCollector()
            #expect(await start.waitForExit() == 0, "\(start.text)")
            #expect(try await system.reader().sessions().first?.name == "walk")
            // The collector is there now, and refuses each request that it gets.
            let labels = (0...SessionJSON.maxLabels).flatMap { ["--label", "label\($0)=1"] }
            let edit = try await record(system, ["edit", "walk"] + labels)
            #expect(edit.status != 0 && edit.text.contains("lockstep query rejected"), "\(edit.text)")
            #expect(client.messages.filter { $0.topic.hasSuffix("/walk/edit") }.count == 1)
        }
    }

    /// `LOCKSTEP_SESSION_SECONDS` sets the least length of the session, and `LOCKSTEP_SESSION_DEVICES` the number of devices.
    @Test(
        "devices, of which one stands still for a while and one returns after the end, are complete with each sample once, though all programs are killed"
    )
    func manyDevices() async throws {
        let environment = ProcessInfo.processInfo.environment
        let length = environment["LOCKSTEP_SESSION_SECONDS"].flatMap(Int.init) ?? 0
        let names = (0..<(environment["LOCKSTEP_SESSION_DEVICES"].flatMap(Int.init) ?? 10)).map { "d\($0)" }
        try await withSystem { system in
            var collector = try system.startCollector()
            try await system.waitForSubscription()
            let page = ["--broker", system.broker.url, "--store", "sqlite:\(system.storePath)", "--listen", "0"]
            var server = try system.start("lockstep-serve", page)
            var (agents, client) = try await startAgents(names, system)
            // It would keep all messages.
            await client.stop()
            let started = try await record(system, ["start", "walk", "--rate", "motion/accelerometer=200"])
            #expect(started.status == 0 && started.text.contains("\(names.count) devices"), "\(started.text)")
            #expect(try await record(system, ["mark", "one"]).status == 0)
            // Each device has a part of the session before something happens to it.
            let reader = try await system.reader()
            let start = try #require(try reader.sessions().first?.start)
            func reach(_ names: some Collection<String>, _ time: Timestamp) async throws {
                for name in names {
                    try await expectEventually(name) {
                        try reader.timeRanges(of: .accelerometer, devices: [address(name)])[address(name)]
                            .map { $0.upperBound > time } ?? false
                    }
                }
            }
            try await reach(names, start + 1_000_000)
            // The last one never returns during the session; the one before it is suspended from time to time.
            let (absent, suspended) = (names[names.count - 1], names[names.count - 2])
            await agents[absent]?.stop(SIGKILL)
            let end = ContinuousClock.now + .seconds(length)
            var kills = 0
            repeat {
                agents[suspended]?.signal(SIGSTOP)
                let killed = names[kills % (names.count - 2)]
                await agents[killed]?.stop(SIGKILL)
                await collector.stop(SIGKILL)
                agents[killed] = try system.startAgent(killed, source: "simulate:\(killed.dropFirst())")
                await system.broker.stop(SIGKILL)
                await server.stop(SIGKILL)
                server = try system.start("lockstep-serve", page)
                try await system.broker.start()
                collector = try system.startCollector()
                kills += 1
                try await reach(names.dropLast(2), Moment.now().wall)
                agents[suspended]?.signal(SIGCONT)
            } while ContinuousClock.now < end
            let mark = try await record(system, ["mark", "two", "--session", "walk", "--value", "2"])
            #expect(mark.status == 0, "\(mark.text)")
            try await reach(names.dropLast(), Moment.now().wall)
            let stopped = try await record(system, ["stop"])
            #expect(stopped.status == 2, "\(stopped.text)")
            let incomplete = try #require(try reader.sessions().first)
            // After many kills, others may still have a backlog.
            let problem = incomplete.devices[address(absent).device]?.problem
            #expect(incomplete.state == .incomplete && problem == "has not answered since the end")
            // Its gap is that between its last stored sample and the end.
            let newest = try #require(
                try reader.timeRanges(of: .accelerometer, devices: [address(absent)])[address(absent)]?.upperBound)
            let gap = try #require(try await shown(system, "walk").first { $0.device == absent }?.gaps.last)
            #expect(gap.to == incomplete.end?.microseconds && abs(gap.from - newest.microseconds) < 10_000)
            agents[absent] = try system.startAgent(absent, source: "simulate:\(absent.dropFirst())")
            try await expectEventually(within: .seconds(300)) { try reader.sessions().first?.state == .complete }
            let session = try #require(try reader.sessions().first)
            #expect(session.devices.count == names.count && session.devices.values.allSatisfy { $0.missing == 0 })
            #expect(session.markers.map(\.text) == ["one", "two"] && session.markers.last?.value == 2)
            let range = start..<(try #require(incomplete.end))
            #expect(session.markers.allSatisfy { range.contains($0.time) } && session.end == range.upperBound)
            // The page has survived, too.
            #expect(await server.waitForOutput("server started"))
            let port = try #require(server.text.firstMatch(of: /address=http:\/\/127\.0\.0\.1:([0-9]+)/)?.1)
            let url = "http://127.0.0.1:\(port)/api/v1/sessions/default/walk"
            try await expectEventually {
                try await RunningProgram.run("/usr/bin/curl", ["-s", url]).text.contains(#""state":"complete""#)
            }
            let after = try await shown(system, "walk")
            #expect(after.count == names.count && after.allSatisfy { $0.samples > 100 })
            for name in names { await agents[name]?.stop() }
            let verified = try await system.verify(names)
            #expect(verified.status == 0, "\(verified.text)")
            // All programs have the same clock: that of the device is the truth, and the estimated difference an error.
            var firsts: [Int64] = []
            var (error, bound): (Int64, Int64) = (0, 0)
            for name in names {
                var first: Timestamp?
                try reader.query(
                    stream: .accelerometer, group: .standard, devices: [DeviceID(unchecked: name)], from: start,
                    to: start + 1_000_000
                ) { first = first ?? $0.time }
                firsts.append(try #require(first) - start)
                for clock in try reader.storedClocks(of: address(name)) {
                    #expect(abs(clock.point.offset) <= clock.point.bound, "\(clock)")
                    error = max(error, abs(clock.point.offset))
                    bound = max(bound, clock.point.bound)
                }
            }
            #expect(
                firsts.allSatisfy { $0 < 10_000 }, "within a sample, and one more that a loaded machine may leave out")
            print(
                "session of \((range.upperBound - start) / 1_000_000) s, \(names.count) devices, \(4 * kills) kills: "
                    + "\(after.reduce(0) { $0 + $1.samples }) samples, first ones \(firsts.min() ?? 0) to "
                    + "\(firsts.max() ?? 0) µs after the start, clocks wrong by up to \(error) µs, bounds up to \(bound)"
            )
        }
    }

    private func address(_ device: String) -> DeviceAddress {
        DeviceAddress(group: .standard, device: DeviceID(unchecked: device))
    }

    /// Returns what `lockstep record show --json` has of streams.
    private func shown(_ system: TestSystem, _ session: String) async throws -> [Shown.Series] {
        let json = try await read(system, ["record", "show", session, "--json"])
        return try JSONDecoder().decode(Shown.self, from: Data(json.text.utf8)).streams
    }

    @Test(
        "a device that never returns leaves a session incomplete, with the exact gap; when it returns, it is complete")
    func absentDevice() async throws {
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            var (agents, client) = try await startAgents(["left", "right"], system)
            let started = try await record(
                system,
                ["start", "walk", "--device", "left", "--device", "right", "--rate", "motion/accelerometer=100"])
            #expect(started.status == 0, "\(started.text)")
            await client.expectMessage { $0.topic == "lockstep/default/$session/walk" && !$0.isRetained }
            // Its samples are a part of the session.
            let before = client.messages.count
            await expectEventually {
                client.messages.dropFirst(before).count { $0.topic == "lockstep/default/right/motion/accelerometer" }
                    >= 5
            }
            await agents["right"]?.stop(SIGKILL)
            // The session goes on without it for a second.
            let seen = client.messages.count
            await expectEventually {
                client.messages.dropFirst(seen).count { $0.topic == "lockstep/default/left/motion/accelerometer" } >= 8
            }
            let stopped = try await record(system, ["stop"])
            #expect(stopped.status == 2 && stopped.text.contains("has not answered since the end"), "\(stopped.text)")
            let shown = try await read(system, ["record", "show", "walk"])
            let session = try #require(try await system.reader().sessions().first)
            #expect(session.state == .incomplete)
            let end = try #require(session.end)
            // The gap is that between the last stored sample and the end.
            let stored = try await system.reader().timeRanges(of: .accelerometer, devices: [address("right")])
            let newest = try #require(stored[address("right")]?.upperBound)
            // Times are shown with three decimals.
            let part = " to \("\(end)".prefix(22))"
            let line = try #require(shown.text.split(separator: "\n").last { $0.contains(part) })
            let gap = try #require(Double(line.split(separator: " ").dropLast().last ?? ""))
            #expect(shown.status == 2 && abs(gap - Double(end - newest) / 1e6) < 0.01, "\(shown.text)")
            // The same for programs.
            let series = try #require(try await self.shown(system, "walk").first { $0.device == "right" })
            #expect(series.stream == "motion/accelerometer" && series.samples > 0)
            let last = try #require(series.gaps.last)
            #expect(last.to == end.microseconds && abs(last.from - newest.microseconds) < 10_000)
            #expect(abs(Double(last.count) - Double(last.to - last.from) / 1e4) < 2)
            agents["right"] = try system.startAgent("right", source: "simulate:1")
            await expectEventually { (try? await system.reader().sessions().first?.state) == .complete }
            for agent in agents.values { await agent.stop() }
        }
    }

    /// What `lockstep record show --json` has of streams.
    private struct Shown: Decodable {
        struct Gap: Decodable { let from, to, count: Int64 }
        struct Series: Decodable {
            let device, stream: String
            let samples: Int
            let gaps: [Gap]
        }
        let streams: [Series]
    }
}
