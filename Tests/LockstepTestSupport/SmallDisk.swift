import Foundation

/// A file system in memory of a limited size, to test full disks. Needs the rights of root.
public enum SmallDisk {
    /// Whether this process may mount file systems.
    public static func isAvailable() async -> Bool {
        (try? await withTemporaryFolder { folder in try await with(at: folder, kilobytes: 100) {} }) != nil
    }

    /// Calls `body` while the file system is mounted at `folder`, which is created if it does not exist.
    public static func with<Result>(
        at folder: String, kilobytes: Int, _ body: () async throws -> Result
    ) async throws -> Result {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try await run("mount", ["-t", "tmpfs", "-o", "size=\(kilobytes)k", "tmpfs", folder])
        do {
            let result = try await body()
            try await unmount(folder)
            return result
        } catch {
            try await unmount(folder)
            throw error
        }
    }

    /// Writes zeros to a new file until its file system is full.
    public static func fill(_ path: String) {
        let file = open(path, O_CREAT | O_WRONLY, 0o600)
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        while write(file, zeros, zeros.count) > 0 {}
        close(file)
    }

    /// Unmounts the file system when the last program has closed its files.
    private static func unmount(_ folder: String) async throws { try await run("umount", ["-l", folder]) }

    private static func run(_ name: String, _ arguments: [String]) async throws {
        guard let path = Programs.installed(name) else { throw ProgramError("\(name) is not installed") }
        let program = try RunningProgram(path, arguments)
        guard await program.waitForExit() == 0 else { throw ProgramError("\(name) failed: \(program.text)") }
    }
}
