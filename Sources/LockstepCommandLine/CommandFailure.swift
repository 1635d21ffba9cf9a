/// An error for the user at the terminal. Its text states what happened and what to do.
public struct CommandFailure: Error, CustomStringConvertible {
    public let description: String
    /// Makes an error with this text.
    public init(_ description: String) { self.description = description }
}
