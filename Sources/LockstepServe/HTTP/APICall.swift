import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepModel
import NIOCore

/// A request for a route, with its decoded parameters and the rights of the client.
struct APICall: Sendable {
    let request: Request
    /// The values of the names in the path.
    let path: [String: String]
    let query: QueryParameters
    let rights: Rights
    let limits: ServeLimits
    /// The connection of the client.
    let channel: any Channel

    /// Returns the body, which must be JSON.
    /// - Throws: ``Problem`` if it has another type or is too large.
    func jsonBody() async throws -> [UInt8] {
        let type = request.headers[.contentType]?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard type == "application/json" else {
            throw Problem(
                status: 415, title: "Unsupported media type",
                detail: "the body must be JSON: send it with the field 'Content-Type: application/json'")
        }
        let tooLarge = Problem(
            status: 413, title: "Content too large", detail: "the body is too large: the limit is \(limits.body) bytes")
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.body { throw tooLarge }
        do {
            let buffer = try await request.body.collect(upTo: limits.body)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        }
    }
}

extension APICall {
    /// Returns the device in the path.
    /// - Throws: ``Problem`` if its name is invalid.
    func device() throws(Problem) -> DeviceAddress {
        do {
            return DeviceAddress(
                group: try GroupID(validating: path["group"] ?? ""),
                device: try DeviceID(validating: path["device"] ?? ""))
        } catch { throw .badRequest("\(error)") }
    }

    /// Returns the parameter `group`, or nil if it is absent.
    /// - Throws: ``Problem`` if it is invalid.
    func group() throws(Problem) -> GroupID? { try query.value("group") { try GroupID(validating: $0) } }
}

/// Answers a call.
typealias APIHandler = @Sendable (APICall) async throws -> Response

extension Response {
    /// Creates an answer with a JSON document.
    init(json: [UInt8], status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: json)))
    }

    /// Creates the answer of a problem.
    init(_ problem: Problem) {
        self.init(
            status: .init(code: problem.status), headers: [.contentType: "application/problem+json"],
            body: .init(byteBuffer: ByteBuffer(bytes: problem.json)))
        for (name, value) in problem.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
    }
}
