public import Testing

/// Polls `condition` every 20 ms until it holds. Returns false if the deadline passes first.
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

/// Waits until `condition` holds, and records an issue if the deadline passes first.
///
/// This is a function because `#expect` with a closure is miscompiled: Swift 6.3 can give that closure and another one
/// in the same enclosing closure the same symbol, and then runs one of them twice.
public func expectEventually(
    _ comment: @autoclosure () -> String = "", within limit: Duration = .seconds(60),
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async rethrows {
    if try await !eventually(within: limit, condition) {
        Issue.record("not within \(limit): \(comment())", sourceLocation: sourceLocation)
    }
}

/// Calls `body`, and then `end`, whether `body` returns or throws. A `defer` block cannot wait.
public func finally<Result>(
    _ end: () async -> Void, _ body: () async throws -> Result
) async throws -> Result {
    do {
        let result = try await body()
        await end()
        return result
    } catch {
        await end()
        throw error
    }
}
