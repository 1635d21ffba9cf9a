import Foundation

/// The speed at which OwnTracks locations pass through gateway, broker and collector into a store, durably, compared with
/// a C subscriber that only counts them.
struct GatewayBenchmark {
    /// Folder of the built programs.
    let programs: String
    let rounds: Int
    /// The length of a round, as a fraction of its usual length.
    let length: Double

    private static let users = 100
    private var messages: Int { Int(50_000 * length) }

    func run() throws -> [Comparison] {
        try withFolder { folder in
            let load = folder + "/load"
            try write(load)
            return try compare(
                "gateway",
                [
                    Metric(name: "messages", unit: "messages/s"),
                    Metric(name: "CPU", unit: "µs/message", digits: 2),
                ], rounds: rounds,
                [
                    Contender(name: "gateway and collector") { try withFolder { try store(load, in: $0) } },
                    Contender(name: "C, only counts") { try withFolder { try count(load, in: $0) } },
                ])
        }
    }

    /// Writes the messages of all users in turn, each with a location as the apps send it.
    private func write(_ path: String) throws {
        let file = try LoadFile(path)
        let start = Int(Date().timeIntervalSince1970) - messages / Self.users - 3600
        for message in 0..<messages {
            let (turn, user) = message.quotientAndRemainder(dividingBy: Self.users)
            let text =
                #"{"_type":"location","acc":12,"alt":154,"batt":\#(turn % 100),"bs":1,"conn":"m","created_at":\#(start + turn),"#
                + #""lat":\#(50 + Double(turn % 9000) / 10_000),"lon":8.4\#(user),"m":1,"t":"u","tid":"u\#(user % 10)","#
                + #""tst":\#(start + turn),"vac":3,"vel":\#(turn % 50)}"#
            file.add(topic: "owntracks/user-\(user)/phone", payload: Array(text.utf8))
        }
        try file.close()
    }

    /// Lets the broker queue the load, and measures both programs from the start of the gateway to the commit of the last
    /// sample in the store.
    private func store(_ load: String, in folder: String) throws -> [Double] {
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        try broker.keepMessages(for: "lockstep-gateway-main", of: "owntracks/+/+")
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load])
        let store = folder + "/store.db"
        let collector = try Launched(
            programs + "/lockstep-collector",
            ["--broker", broker.url, "--store", "sqlite:" + store, "--sync", "full", "--log-level", "error"])
        defer { collector.stop() }
        try broker.wait(for: "lockstep/default/$collector/main")
        let clock = ContinuousClock()
        let begin = clock.now
        let collectorBefore = try collector.cpuTime()
        let gateway = try Launched(
            programs + "/lockstep-gateway",
            [
                "--broker", broker.url, "--outbox", folder + "/gateway.db", "--accept", "any", "--log-level", "error",
            ])
        defer { gateway.stop() }
        do {
            // A location and a battery sample for each message.
            try Launched.run(
                Launched.beside("await-samples"), [store, "\(2 * messages)", "\(gateway.id)", "600"])
        } catch {
            throw Failure("the gateway ended, or not all samples were stored within 600 s: try to start it by hand")
        }
        let seconds = (clock.now - begin) / .seconds(1)
        let cpu = try gateway.cpuTime() + collector.cpuTime() - collectorBefore
        let effort = Effort(seconds: seconds, cpu: cpu, count: messages)
        return [effort.rate, effort.cpuEach]
    }

    private func count(_ load: String, in folder: String) throws -> [Double] {
        let broker = try BenchBroker(in: folder)
        defer { broker.stop() }
        try broker.keepMessages(for: "other-side", of: "owntracks/+/+")
        try Launched.run(Launched.beside("publish-load"), ["\(broker.port)", load])
        let effort = try Launched.time(
            Launched.beside("count-messages"), ["\(broker.port)", "other-side", "\(messages)"])
        return [effort.rate, effort.cpuEach]
    }
}
