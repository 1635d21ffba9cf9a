import FoundationEssentials
import LockstepModel
import Testing

extension SequenceSet: ExpressibleByArrayLiteral {
    init(arrayLiteral elements: ClosedRange<Int64>...) { self.init(elements) }
}

/// Creates a folder for each test, and removes it afterwards.
struct TemporaryFolder: TestTrait, SuiteTrait, TestScoping {
    /// The folder of the current test.
    @TaskLocal static var path = ""

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/lockstep-agent-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.$path.withValue(path, operation: function)
    }
}

extension Trait where Self == TemporaryFolder {
    static var temporaryFolder: TemporaryFolder { TemporaryFolder() }
}
