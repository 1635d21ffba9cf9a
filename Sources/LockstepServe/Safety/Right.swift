/// A right of a client.
public enum Right: String, Hashable, Sendable, CaseIterable {
    /// To read states, samples and figures.
    case read
    /// To send commands to devices, and to acknowledge events. It includes ``read``.
    case operate
}

/// The rights of a client.
struct Rights: Hashable, Sendable {
    let rights: [Right]

    static let none = Rights(rights: [])
    static let read = Rights(rights: [.read])
    static let operate = Rights(rights: [.read, .operate])

    func allows(_ right: Right) -> Bool { rights.contains(right) }
}
