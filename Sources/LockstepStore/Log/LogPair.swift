/// A value for each of the two logs.
struct LogPair<Value> {
    private var first: Value
    private var second: Value

    init(_ make: (LogNumber) throws -> Value) rethrows {
        first = try make(.first)
        second = try make(.second)
    }

    subscript(log: LogNumber) -> Value {
        // Without a copy: a writer's references would be counted for each row.
        @inline(__always)
        _read {
            switch log {
            case .first: yield first
            case .second: yield second
            }
        }
        @inline(__always)
        _modify {
            switch log {
            case .first: yield &first
            case .second: yield &second
            }
        }
    }
}
