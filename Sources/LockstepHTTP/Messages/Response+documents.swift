package import HTTPTypes
package import HummingbirdCore
import NIOCore

extension Response {
    package init(json: [UInt8], status: HTTPResponse.Status = .ok) {
        self.init(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: json)))
    }

    package init(_ problem: Problem) {
        self.init(
            status: .init(code: problem.status), headers: [.contentType: "application/problem+json"],
            body: .init(byteBuffer: ByteBuffer(bytes: problem.json)))
        for (name, value) in problem.headers {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
    }
}
