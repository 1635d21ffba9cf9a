public import LockstepModel

extension RefinedKind {
    /// The name of the view of the rows, such as `steps_refined`.
    public var view: String { "\(rawValue)_refined" }

    /// The rows as samples of a stream with the name of the view. No device sends it, and it is in no catalog.
    public var stream: SensorStream {
        SensorStream(
            name: view, table: view, summary: "Computed by 'lockstep refine'",
            columns: definitions.map { column in
                let isInteger = column.type.hasPrefix("INTEGER")
                let isTime = isInteger && column.comment.hasSuffix("in µs since 1970-01-01 UTC")
                return SensorStream.Column(
                    name: column.name, kind: isInteger ? .integer : .real, unit: isTime ? "µs since 1970" : "",
                    isRequired: column.type.hasSuffix("NOT NULL"), summary: column.comment)
            })
    }

    /// Creates the kind with a view of this name, or returns nil if there is none.
    public init?(view: String) {
        guard let kind = Self.allCases.first(where: { $0.view == view }) else { return nil }
        self = kind
    }
}
