import Foundation
import LockstepSystem

/// Forwards HTTP requests to a server on a loopback port, and ends the connections of some of them without an answer.
public final class LossyProxy: Sendable {
    /// What happens to a request.
    public enum Fate: Sendable {
        case answered
        /// The connection ends before the server receives the request.
        case lost
        /// The connection ends after the server has executed the request.
        case answerLost
    }

    /// The port to connect to.
    public var port: UInt16 { listener.port }
    private let listener: LoopbackListener

    /// - Parameter fate: decides by the target and the body of a request.
    public init(to target: UInt16, _ fate: @escaping @Sendable (_ target: String, _ body: String) -> Fate) throws {
        let listener = try LoopbackListener()
        self.listener = listener
        Thread.detachNewThread {
            while let client = listener.accept() {
                Thread.detachNewThread {
                    defer { close(client) }
                    guard let (head, body) = Self.request(client) else { return }
                    let path = head.split(separator: " ", maxSplits: 2).dropFirst().first ?? ""
                    let fate = fate(String(path), String(decoding: body, as: UTF8.self))
                    guard fate != .lost, let server = connectedSocket(port: target) else { return }
                    defer { close(server) }
                    // So that the answer ends with the connection.
                    Self.send(Array("\(head)\r\nConnection: close\r\n\r\n".utf8) + body, to: server)
                    let answer = Self.receive(server, until: { _ in false })
                    if fate == .answered { Self.send(answer, to: client) }
                }
            }
        }
    }

    deinit { listener.close() }

    /// Reads a request with `Content-Length`.
    private static func request(_ client: Int32) -> (head: String, body: [UInt8])? {
        func parts(_ bytes: [UInt8]) -> (head: String, body: ArraySlice<UInt8>)? {
            guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
            return (String(decoding: bytes[..<end.lowerBound], as: UTF8.self), bytes[end.upperBound...])
        }
        func isComplete(_ bytes: [UInt8]) -> Bool {
            guard let (head, body) = parts(bytes) else { return false }
            let length = head.firstMatch(of: /(?i)content-length: *(\d+)/).flatMap { Int($0.1) } ?? 0
            return body.count >= length
        }
        let bytes = receive(client, until: isComplete)
        return isComplete(bytes) ? parts(bytes).map { ($0.head, Array($0.body)) } : nil
    }

    private static func receive(_ socket: Int32, until isComplete: ([UInt8]) -> Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while !isComplete(bytes) {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    private static func send(_ bytes: [UInt8], to socket: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}
