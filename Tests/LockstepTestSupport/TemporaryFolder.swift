import Foundation
public import Testing

/// A trait that creates a temporary folder for each test and removes it afterwards.
///
/// It is a trait instead of a function `withFolder { }` because of a bug of Swift 6.3: within a closure, the closure of
/// `#expect(throws:)` can get the symbol of another closure, and the test silently runs the wrong one.
public struct TemporaryFolder: TestTrait, SuiteTrait, TestScoping {
    /// The folder of the running test.
    @TaskLocal public static var path = ""

    public var isRecursive: Bool { true }

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTemporaryFolder { path in try await Self.$path.withValue(path, operation: function) }
    }
}

extension Trait where Self == TemporaryFolder {
    public static var temporaryFolder: TemporaryFolder { TemporaryFolder() }
}
