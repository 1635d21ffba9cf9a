import Foundation
import LockstepSystem

/// A mosquitto without queue limits, on a free port.
struct BenchBroker {
    let port: Int
    let process: Launched

    /// - Parameter folder: The folder of its settings file.
    init(in folder: String) throws {
        port = Int(try freePort())
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

    /// The CPU time used so far, in s.
    func cpuTime() throws -> Double { try process.cpuTime() }

    /// Waits for a message on a topic.
    func wait(for topic: String) throws {
        try Launched.run("mosquitto_sub", ["-p", "\(port)", "-t", topic, "-C", "1", "-W", "30"])
    }

    /// Writes the messages of a topic to a file. Each line has the time of receipt, in s since 1970, and the payload.
    func record(_ topic: String, into file: String) throws -> Launched {
        guard FileManager.default.createFile(atPath: file, contents: nil),
            let handle = FileHandle(forWritingAtPath: file)
        else { throw Failure("cannot write \(file)") }
        return try Launched("mosquitto_sub", ["-p", "\(port)", "-t", topic, "-F", "%U %p"], output: handle)
    }

    /// Creates a session for `client`, for which the broker queues all messages that are published from now on.
    func keepMessages(for client: String, of filter: String = "lockstep/#") throws {
        try Launched.run(
            "mosquitto_sub",
            ["-p", "\(port)", "-V", "mqttv5", "-i", client, "-c", "-x", "3600", "-q", "1", "-t", filter, "-E"])
    }
}

/// Calls `body` with a new folder, and removes the folder when `body` returns or throws.
func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.path + "/lockstep-bench-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body(folder)
}
