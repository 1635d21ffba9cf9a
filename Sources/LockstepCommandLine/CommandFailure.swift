/// An error for the person at the terminal: one text that says what happened and what to do.
public struct CommandFailure: Error, CustomStringConvertible {
    public let description: String
    public init(_ description: String) { self.description = description }
}
