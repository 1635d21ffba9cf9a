/// An error answer as a problem document of RFC 9457.
public struct Problem: Error, Hashable, Sendable {
    /// The HTTP status code.
    public let status: Int
    /// The short text of this kind of problem, the same for all its occurrences.
    public let title: String
    /// What happened, and what to do.
    public let detail: String

    /// Creates a problem.
    public init(status: Int, title: String, detail: String) {
        self.status = status
        self.title = title
        self.detail = detail
    }
}
