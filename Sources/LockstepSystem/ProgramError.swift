/// A program that did not start, or did not behave as expected.
public struct ProgramError: Error, CustomStringConvertible {
    public let description: String
    /// Creates an error.
    public init(_ description: String) { self.description = description }
}

/// How a program has ended.
public enum ProgramEnd: Hashable, Sendable, CustomStringConvertible {
    /// By itself, with an exit status.
    case exit(Int32)
    /// Killed by a signal.
    case signal(Int32)

    /// Whether it has ended by itself and without an error.
    public var isClean: Bool { self == .exit(0) }

    /// For people.
    public var description: String {
        switch self {
        case .exit(let status): "exit status \(status)"
        case .signal(let number): "killed by signal \(number)"
        }
    }
}
