/// An error for the user at the terminal. Its text states what happened and what to do.
public struct CommandFailure: Error, CustomStringConvertible {
    /// The text for the user.
    public let description: String
    /// Creates an error with this text.
    public init(_ description: String) { self.description = description }
}
