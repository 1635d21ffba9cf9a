import Foundation

/// Calls `body` with a new, empty folder, and removes the folder when `body` returns or throws.
public func withTemporaryFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory.path + "/lockstep-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// The folder of recordings, `shared/data` in a folder above the checkout, or nil if it is missing.
public let recordingsFolder: String? = {
    var folder = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { folder.deleteLastPathComponent() }
    while folder.path != "/" {
        folder.deleteLastPathComponent()
        let path = folder.appendingPathComponent("shared/data").path
        if FileManager.default.fileExists(atPath: path + "/walks/truth.csv") { return path }
    }
    return nil
}()
