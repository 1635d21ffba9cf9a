import Foundation
import LockstepTestSupport
import Synchronization

/// An HTTP server on loopback that collects the requests it gets.
final class WebhookServer: Sendable {
    struct Request: Sendable {
        let headers: [String: String]
        let body: String
    }

    private struct State {
        var requests: [Request] = []
        var status = 200
        var isStopped = false
    }

    private let state = Mutex(State())
    private let listener: LoopbackListener
    var port: UInt16 { listener.port }

    /// - Parameter port: the port, or 0 for any.
    init(port: UInt16 = 0) throws {
        listener = try LoopbackListener(port: port)
        Thread.detachNewThread { [self] in serve() }
    }

    var requests: [Request] { state.withLock { $0.requests } }

    /// Sets the status of the following answers.
    func answer(_ status: Int) { state.withLock { $0.status = status } }

    func stop() {
        state.withLock { $0.isStopped = true }
        listener.close()
    }

    private func serve() {
        while !state.withLock({ $0.isStopped }), let connection = listener.accept() {
            defer { close(connection) }
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(connection, &piece, piece.count)
                guard count > 0 else { break }
                bytes += piece[..<count]
                guard let request = parse(bytes) else { continue }
                let status = state.withLock { state in
                    state.requests.append(request)
                    return state.status
                }
                let answer = "HTTP/1.1 \(status) X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                _ = Array(answer.utf8).withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
                break
            }
        }
    }

    /// Returns a request if all of it has arrived.
    private func parse(_ bytes: [UInt8]) -> Request? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return nil }
        var headers: [String: String] = [:]
        for line in text[..<end.lowerBound].components(separatedBy: "\r\n").dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
                in: .whitespaces)
        }
        let body = String(text[end.upperBound...])
        guard body.utf8.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
        return Request(headers: headers, body: body)
    }
}
