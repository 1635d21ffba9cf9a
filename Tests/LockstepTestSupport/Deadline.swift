public import Testing

/// Waits until `condition` holds, looking again every few milliseconds; false when the deadline passes first.
public func eventually(
    within limit: Duration = .seconds(60), _ condition: () async throws -> Bool
) async rethrows -> Bool {
    let deadline = ContinuousClock.now + limit
    while ContinuousClock.now < deadline {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(20))
    }
    return try await condition()
}

/// Waits until `condition` holds, and records an issue when the deadline passes first.
///
/// A function rather than `#expect` with a closure in it: inside the closure of a scope, Swift 6.3 can give the closure
/// within the macro and one beside it the same symbol, and then runs one of them twice.
public func expectEventually(
    _ comment: @autoclosure () -> String = "", within limit: Duration = .seconds(60),
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async rethrows {
    if try await !eventually(within: limit, condition) {
        Issue.record("not within \(limit): \(comment())", sourceLocation: sourceLocation)
    }
}
