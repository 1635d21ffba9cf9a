import Foundation
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
    private let listener: Int32
    let port: UInt16

    /// - Parameter port: the port, or 0 for any.
    init(port: UInt16 = 0) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var on: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, size) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, generic, &size) == 0
            }
        }
        self.port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        Thread.detachNewThread { [self] in serve() }
    }

    var requests: [Request] { state.withLock { $0.requests } }

    /// Sets the status of the following answers.
    func answer(_ status: Int) { state.withLock { $0.status = status } }

    func stop() {
        state.withLock { $0.isStopped = true }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while !state.withLock({ $0.isStopped }) {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
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
