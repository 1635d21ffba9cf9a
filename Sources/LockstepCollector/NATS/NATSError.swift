import CNATS

/// An error of a NATS client or server.
public struct NATSError: Error, Hashable, CustomStringConvertible {
    /// What happened.
    public let description: String

    init(_ description: String) { self.description = description }

    /// Creates the error of a call of the library, with the library's explanation.
    init(_ status: natsStatus, _ task: String) {
        var last = status
        let detail = nats_GetLastError(&last).map { String(cString: $0) } ?? ""
        let name = natsStatus_GetText(status).map { String(cString: $0) } ?? "error \(status.rawValue)"
        self.init("\(task): " + (detail.isEmpty || detail == name ? name : "\(name): \(detail)"))
    }
}
