/// The library `test-disk.c`, with which the disk of a database has faults.
public enum TestDisk {
    /// Compiles the library into a folder.
    /// - Returns: its path, for `LD_PRELOAD`.
    public static func compile(in folder: String) async throws -> String {
        let library = folder + "/test-disk.so"
        let compiled = try await RunningProgram.run(
            "/usr/bin/env",
            [
                "clang", "-shared", "-fPIC", "-O1", "-o", library,
                Programs.source("Tests/LockstepTestSupport/test-disk.c"),
            ])
        guard compiled.status == 0 else { throw ProgramError(compiled.text) }
        return library
    }
}
