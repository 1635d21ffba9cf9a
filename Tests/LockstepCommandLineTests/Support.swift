import FoundationEssentials
import LockstepCommandLine
import LockstepTestSupport
import Testing

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
