import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
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
    /// The memory for the answer.
    let memory: AnswerMemory

    /// Returns the body, which must be JSON.
    /// - Throws: ``Problem`` if it has another type or is too large.
    func jsonBody() async throws -> [UInt8] {
        let type = request.headers[.contentType]?.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
        guard type == "application/json" else {
            throw Problem(
                status: 415, title: "Unsupported media type",
                detail: "the body must be JSON: send it with the field 'Content-Type: application/json'")
        }
        return try await request.body(upTo: limits.http.body)
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
