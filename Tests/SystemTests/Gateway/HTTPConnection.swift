import Foundation
import LockstepTestSupport

/// A blocking HTTP/1.1 connection to a server on loopback, for requests that also break the rules.
final class HTTPConnection {
    struct Answer {
        let status: Int
        let head: String
        let body: String
    }

    private let connection: RawConnection
    private var received: [UInt8] = []

    init(port: UInt16) throws { connection = try RawConnection(port: port) }

    func write(_ bytes: some Collection<UInt8>) { connection.write(bytes) }

    /// Sends a POST request and returns its answer, or nil if the connection ends before.
    func post(_ path: String, _ body: some Collection<UInt8>, headers: [String] = [], host: String = "localhost")
        -> Answer?
    {
        let fields = headers.map { $0 + "\r\n" }.joined()
        write(
            Array("POST \(path) HTTP/1.1\r\nHost: \(host)\r\n\(fields)Content-Length: \(body.count)\r\n\r\n".utf8)
                + Array(body))
        return read()
    }

    /// Reads one answer, or returns nil if the connection ends before it is complete.
    func read() -> Answer? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                let length =
                    head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.dropFirst(15).filter(\.isNumber)) } ?? 0
                if received.count >= range.upperBound + length {
                    let body = String(decoding: received[range.upperBound..<range.upperBound + length], as: UTF8.self)
                    received.removeFirst(range.upperBound + length)
                    return Answer(status: status, head: head, body: body)
                }
            }
            guard let next = connection.receive() else { return nil }
            received += next
        }
    }
}

/// A running gateway with an HTTP server.
struct HTTPGateway {
    let program: RunningProgram
    let port: UInt16

    /// Starts a gateway and waits until it listens.
    init(_ system: TestSystem, _ arguments: [String] = ["--accept", "any"], listen: String = "0") async throws {
        program = try system.startGateway(["--listen", listen] + arguments)
        guard await program.waitForOutput("server started"),
            let match = program.text.firstMatch(of: /address=https?:\/\/[^ ]*?:([0-9]+)\//), let port = UInt16(match.1)
        else { throw ProgramError("the gateway does not listen: \(program.text)") }
        self.port = port
    }

    /// Sends one request on a connection of its own.
    func post(_ path: String, _ body: String, _ headers: [String] = []) throws -> HTTPConnection.Answer {
        guard let answer = try HTTPConnection(port: port).post(path, Array(body.utf8), headers: headers) else {
            throw ProgramError("no answer from \(path): \(program.text)")
        }
        return answer
    }
}
