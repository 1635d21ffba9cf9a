import FoundationEssentials
import LockstepCommandLine
import Testing

/// Creates a temporary folder for each test and removes it afterwards.
struct TemporaryFolder: TestTrait, SuiteTrait, TestScoping {
    /// The folder of the running test.
    @TaskLocal static var path = ""

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let path = FileManager.default.temporaryDirectory.path + "/lockstep-cli-\(UInt64.random(in: .min ... .max))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Self.$path.withValue(path, operation: function)
    }
}

extension Trait where Self == TemporaryFolder {
    static var temporaryFolder: TemporaryFolder { TemporaryFolder() }
}

/// Writes a configuration file to the test's folder, and returns its path.
func write(_ text: String) throws -> String {
    let path = TemporaryFolder.path + "/lockstep.yaml"
    try Data(text.utf8).write(to: URL(filePath: path))
    return path
}

/// Returns the text of the ``CommandFailure`` that `body` throws, or nil if it throws no error.
func failure(_ body: () throws -> Void) -> String? {
    do {
        try body()
    } catch let error as CommandFailure {
        return error.description
    } catch {
        Issue.record("another error: \(error)")
    }
    return nil
}
