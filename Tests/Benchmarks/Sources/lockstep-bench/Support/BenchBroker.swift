import Foundation

/// A mosquitto that keeps whatever comes, on a port of its own.
struct BenchBroker {
    let port: Int
    private let process: Launched

    /// - Parameter folder: for its settings.
    init(in folder: String) throws {
        port = Int.random(in: 20_000...30_000)
        let settings = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            max_queued_messages 0
            max_inflight_messages 1000
            sys_interval 1

            """
        try settings.write(toFile: folder + "/broker.conf", atomically: true, encoding: .utf8)
        process = try Launched("/usr/sbin/mosquitto", ["-c", folder + "/broker.conf"])
        let port = port
        try waitUntil("mosquitto starts on port \(port)", seconds: 20) {
            (try? Launched.run("mosquitto_pub", ["-p", "\(port)", "-t", "started", "-n"])) != nil
        }
    }

    var url: String { "mqtt://127.0.0.1:\(port)" }

    func stop() { process.stop() }

    /// s of CPU up to now.
    func cpuTime() throws -> Double { try process.cpuTime() }

    /// Waits for a message.
    func wait(for topic: String) throws {
        try Launched.run("mosquitto_sub", ["-p", "\(port)", "-t", topic, "-C", "1", "-W", "30"])
    }

    /// Writes each message of a topic into a file as it comes: a line of the time in s since 1970 and the payload.
    func record(_ topic: String, into file: String) throws -> Launched {
        guard FileManager.default.createFile(atPath: file, contents: nil),
            let handle = FileHandle(forWritingAtPath: file)
        else { throw Failure("\(file) can't be written") }
        return try Launched("mosquitto_sub", ["-p", "\(port)", "-t", topic, "-F", "%U %p"], output: handle)
    }

    /// Makes the broker keep for `client` what is published from now on.
    func keepMessages(for client: String) throws {
        try Launched.run(
            "mosquitto_sub",
            ["-p", "\(port)", "-V", "mqttv5", "-i", client, "-c", "-x", "3600", "-q", "1", "-t", "lockstep/#", "-E"])
    }
}

/// Gives `body` a new folder, and removes it afterwards.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.path + "/lockstep-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}
