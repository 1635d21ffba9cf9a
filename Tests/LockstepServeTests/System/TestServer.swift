import Foundation
import LockstepTestSupport

/// A running `lockstep-serve` on a free loopback port, and requests to it.
struct TestServer {
    let program: RunningProgram
    let scheme: String
    let port: UInt16

    var url: String { "\(scheme)://127.0.0.1:\(port)" }

    /// The answer to a request.
    struct Answer {
        var status = 0
        var headers: [String: String] = [:]
        var body = ""

        /// The body as a JSON object.
        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }
        /// The field `detail` of a problem document.
        var detail: String { json["detail"] as? String ?? "" }
    }

    /// Sends requests to a server that is running already.
    init(running program: RunningProgram) throws {
        guard let match = program.text.firstMatch(of: /address=(https?):\/\/[^ ]*?:([0-9]+)\//),
            let port = UInt16(match.2)
        else { throw ProgramError("the server does not listen: \(program.text)") }
        self.program = program
        scheme = String(match.1)
        self.port = port
    }

    /// Starts the server and waits until it listens.
    /// - Parameter store: the address of the store, or nil for the file of the system.
    init(
        _ system: TestSystem, _ arguments: [String] = [], listen: String = "0", store: String? = nil
    ) async throws {
        let program = try system.start(
            "lockstep-serve",
            ["--broker", system.broker.url, "--store", store ?? "sqlite:\(system.storePath)", "--listen", listen]
                + arguments)
        guard await program.waitForOutput("server started") else {
            throw ProgramError("the server does not start: \(program.text)")
        }
        try self.init(running: program)
    }

    /// Sends a request with curl.
    func get(_ path: String, _ arguments: [String] = []) async throws -> Answer {
        let run = try await RunningProgram.run(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--include", "--path-as-is", "--max-time", "30"] + arguments + [
                "\(url)\(path)"
            ])
        guard run.status == 0 else { throw ProgramError("curl \(path): \(run.text)") }
        return Self.answer(run.text)
    }

    /// Sends a body as JSON.
    func post(_ path: String, _ body: String, _ arguments: [String] = []) async throws -> Answer {
        try await get(path, ["--data-binary", body, "--header", "Content-Type: application/json"] + arguments)
    }

    /// Starts to receive a stream of events.
    func events(_ path: String, _ arguments: [String] = []) throws -> RunningProgram {
        try RunningProgram("/usr/bin/curl", ["--silent", "--no-buffer"] + arguments + ["\(url)\(path)"])
    }

    /// Returns the value of a metric without labels.
    func metric(_ name: String) async throws -> Double? {
        let line = try await get("/metrics").body.split(separator: "\n").first { $0.hasPrefix("\(name) ") }
        return line.flatMap { Double($0.dropFirst(name.count + 1)) }
    }

    private static func answer(_ text: String) -> Answer {
        var answer = Answer()
        let normal = text.replacing("\r\n", with: "\n")
        let parts = normal.split(separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
        let lines = parts[0].split(separator: "\n")
        answer.status = lines.first.flatMap { $0.split(separator: " ").dropFirst().first }.flatMap { Int($0) } ?? 0
        for line in lines.dropFirst() {
            let sides = line.split(separator: ":", maxSplits: 1)
            if sides.count == 2 {
                answer.headers[sides[0].lowercased()] = sides[1].trimmingCharacters(in: .whitespaces)
            }
        }
        answer.body = parts.count > 1 ? String(parts[1]) : ""
        return answer
    }
}
