import Foundation
import LockstepModel
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

private let needsBroker = ConditionTrait.enabled(
    if: Programs.isInstalled("mosquitto") && Programs.isInstalled("mosquitto_pub"), "mosquitto is not installed")

/// A phone that sends locations by HTTP, each one again until it is acknowledged.
private final class HTTPSender: Sendable {
    private struct State {
        var acknowledged = 0
        var unanswered = 0
        var unexpected: [Int] = []
        var isStopping = false
        var isStopped = false
    }

    private let state = Mutex(State())

    /// The number of acknowledged locations.
    var acknowledged: Int { state.withLock { $0.acknowledged } }
    /// The number of requests that were sent and had no answer.
    var unanswered: Int { state.withLock { $0.unanswered } }
    /// Other statuses than 200 and 503.
    var unexpected: [Int] { state.withLock { $0.unexpected } }

    /// - Parameter start: the time of the first location in s since 1970.
    init(_ name: String, port: UInt16, start: Int) {
        Thread.detachNewThread { [self] in
            var connection: HTTPConnection?
            var index = 0
            while !state.withLock({ $0.isStopping }) {
                if connection == nil { connection = try? HTTPConnection(port: port) }
                guard let open = connection else {
                    usleep(2000)
                    continue
                }
                let body = #"{"_type":"location","lat":\#(index % 90),"lon":8,"tst":\#(start + index)}"#
                switch open.post("/owntracks?u=\(name)&d=phone", Array(body.utf8))?.status {
                case 200:
                    index += 1
                    state.withLock { $0.acknowledged += 1 }
                case nil:
                    connection = nil
                    state.withLock { $0.unanswered += 1 }
                case 503: connection = nil
                case .some(let status): state.withLock { $0.unexpected.append(status) }
                }
            }
            state.withLock { $0.isStopped = true }
        }
    }

    /// Stops after the current request.
    func stop() async -> Bool {
        state.withLock { $0.isStopping = true }
        return await eventually { state.withLock { $0.isStopped } }
    }
}

/// `LOCKSTEP_GATEWAY_KILLS` sets the number of kills.
@Suite("Killed gateway", needsBroker)
struct GatewayKillTests {
    @Test("a gateway that is killed under load by HTTP and MQTT loses nothing that it acknowledged")
    func killed() async throws {
        let kills = ProcessInfo.processInfo.environment["LOCKSTEP_GATEWAY_KILLS"].flatMap { Int($0) } ?? 5
        try await withSystem { system in
            _ = try system.startCollector()
            try await system.waitForSubscription()
            let now = Int(Date().timeIntervalSince1970)
            let first = try await HTTPGateway(system)
            await first.program.stop(SIGKILL)
            let names = ["ann", "ben", "cat"]
            let senders = names.map { HTTPSender($0, port: first.port, start: now - 500_000) }
            let perRound = 300
            for round in 0..<kills {
                let before = senders.map(\.acknowledged).reduce(0, +)
                let gateway = try await HTTPGateway(system, listen: "\(first.port)")
                #expect(await gateway.program.waitForOutput("connected to broker"))
                let publisher = try system.startPublisher(
                    (0..<perRound).map { index in
                        #"{"_type":"location","lat":\#(index % 90),"lon":8,"tst":\#(now - 900_000 + round * perRound + index)}"#
                    }, on: "owntracks/mqtt/phone")
                // Under load: some requests were acknowledged by this process.
                await expectEventually(gateway.program.text) { senders.map(\.acknowledged).reduce(0, +) > before + 20 }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...100)))
                await gateway.program.stop(SIGKILL)
                #expect(await publisher.waitForExit() == 0)
            }
            let last = try await HTTPGateway(system, listen: "\(first.port)")
            for sender in senders { #expect(await sender.stop()) }
            #expect(senders.flatMap(\.unexpected) == [])
            let acknowledged = senders.map(\.acknowledged)
            let unanswered = senders.map(\.unanswered).reduce(0, +)
            print(
                "gateway: \(kills) kills, \(acknowledged.reduce(0, +)) acknowledged requests, \(unanswered) unanswered")
            #expect(unanswered > 0, "no kill hit a request")
            try await expectEventually(last.program.text) {
                try count(system, "mqtt-phone") == Int64(kills * perRound)
            }
            for (name, acknowledged) in zip(names, acknowledged) {
                // Each location has its own time, so that a second copy of one would be another row or a conflict.
                try await expectEventually("\(name): \(acknowledged)") {
                    try count(system, "\(name)-phone") >= Int64(acknowledged)
                }
                // The last request may be stored although its answer was lost.
                #expect(try count(system, "\(name)-phone") <= Int64(acknowledged + 1))
            }
            #expect(try system.rows(of: "conflicts") == 0)
            let reader = try await system.reader()
            try await expectEventually { try reader.devices().allSatisfy { $0.missing + $0.onItsWay == 0 } }
        }
    }

    private func count(_ system: TestSystem, _ device: String) throws -> Int64 {
        let reader = try SQLiteDatabase(path: system.storePath, mode: .readOnly)
        return try reader.integer(
            "SELECT count(*) FROM location JOIN devices USING (device_id) WHERE device = '\(device)'")
    }
}
