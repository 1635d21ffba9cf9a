import Foundation
import LockstepSystem

/// Finds programs that tests run.
public enum Programs {
    /// The path of a program of this package, built together with the tests, or in the folder `LOCKSTEP_TEST_PROGRAMS`.
    public static func built(_ name: String) -> String {
        (ProcessInfo.processInfo.environment["LOCKSTEP_TEST_PROGRAMS"] ?? buildFolder) + "/" + name
    }

    /// Whether a system program is installed. Tests that need a missing one are reported as skipped.
    public static func isInstalled(_ name: String) -> Bool { installed(name) != nil }

    /// The path of a system program, or nil if it is not installed. With `LOCKSTEP_NATS=current`, `nats-server` is that of
    /// the reference packages, which is newer than Debian's.
    public static func installed(_ name: String) -> String? {
        if name == "nats-server", isNATSCurrent { return referenceProgram(name) }
        return ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin", "/bin"].map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether tests use the current NATS server instead of Debian's.
    public static let isNATSCurrent = ProcessInfo.processInfo.environment["LOCKSTEP_NATS"] == "current"

    /// Whether the system's Python is installed and can import `module`.
    public static func pythonHas(_ module: String) -> Bool {
        guard let python = installed("python3") else { return false }
        return (try? RunningProgram(python, ["-c", "import \(module)"]))?.waitForEnd() == 0
    }

    /// The Python with the reference packages, such as numpy and chdb; nil if it is not installed.
    public static let referencePython = referenceProgram("python")

    /// The path of a program in the folder of the Python with the reference packages; nil if it is not installed.
    private static func referenceProgram(_ name: String) -> String? {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? (environment["HOME"] ?? "") + "/.cache"
        let python = environment["LOCKSTEP_REFERENCE_PYTHON"] ?? cache + "/lockstep/reference/bin/python"
        let path = URL(fileURLWithPath: python).deletingLastPathComponent().path + "/" + name
        return FileManager.default.isExecutableFile(atPath: path) ? path : nil
    }

    /// The path of a file of the checkout, such as `deploy/demo`.
    public static func source(_ path: String) -> String {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        return folder.path + "/" + path
    }

    private static let buildFolder: String = {
        // The test runner is called with the path of `lockstepPackageTests.xctest`, which is beside the programs.
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return URL(fileURLWithPath: bundle).deletingLastPathComponent().path
    }()
}
