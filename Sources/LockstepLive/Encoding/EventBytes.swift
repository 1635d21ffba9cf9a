import LockstepWire

/// Builds server-sent events: the lines that a web server writes to a client.
enum EventBytes {
    /// An event that keeps an idle connection open. Browsers do not report comments to a page, which has to know that the
    /// connection lives.
    static let keepAlive = event("keep-alive", data: Array("{}".utf8))

    /// Returns an event.
    /// - Parameters:
    ///   - id: the id with which a client resumes; nil for an event that is no point to resume from.
    ///   - data: JSON, which has no line breaks.
    static func event(_ name: String, id: String? = nil, data: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 64)
        bytes += "event: ".utf8
        bytes += name.utf8
        if let id {
            bytes += "\nid: ".utf8
            bytes += id.utf8
        }
        bytes += "\ndata: ".utf8
        bytes += data
        bytes += "\n\n".utf8
        return bytes
    }
}

extension EventBytes {
    /// Returns the last event of a subscription.
    static func end(_ reason: String) -> [UInt8] {
        var object = JSONObjectWriter()
        object.member("reason", reason)
        return event("end", data: object.finish())
    }
}
