// The names of kinds and aggregates in declarations of streams.

extension SensorStream.Kind {
    /// The name of the kind in a declaration: `real`, `integer` or `choice`.
    public var name: String {
        switch self {
        case .real: "real"
        case .integer: "integer"
        case .choice: "choice"
        }
    }

    /// The words of a `choice`, or nil for other kinds.
    public var words: [String]? { if case .choice(let words) = self { words } else { nil } }

    /// Creates the kind with this name. `number` is an alias of `real`.
    /// - Parameter words: the words of a `choice`, or nil if none are declared.
    /// - Throws: ``StreamDeclarationError`` if there is no such kind, or if words are given for a kind other than
    ///   `choice`.
    public init(name: String, words: [String]? = nil) throws(StreamDeclarationError) {
        switch name {
        case "real", "number": self = .real
        case "integer": self = .integer
        case "choice": self = .choice(words ?? [])
        default:
            let hint =
                ["text", "string"].contains(name)
                ? "free text cannot be stored; use choice with a list of words"
                : "use real, integer, or choice with a list of words"
            throw StreamDeclarationError("unknown kind '\(name.prefix(40))': \(hint)")
        }
        if name != "choice", words != nil {
            throw StreamDeclarationError(
                "'words' are only allowed for the kind choice: remove them, or use 'kind: choice'")
        }
    }
}

extension SensorStream.Aggregate {
    /// Creates the aggregate with this name in a declaration.
    /// - Throws: ``StreamDeclarationError`` if there is no such aggregate.
    public init(name: String) throws(StreamDeclarationError) {
        guard let aggregate = Self(rawValue: name) else {
            throw StreamDeclarationError(
                "unknown aggregate '\(name.prefix(40))': use \(Self.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        self = aggregate
    }
}
