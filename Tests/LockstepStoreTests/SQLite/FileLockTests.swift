import FoundationEssentials
import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("FileLock", .temporaryFolder)
struct FileLockTests {
    @Test("a lock has one holder, reports its process id, and is released with its object")
    func oneHolder() throws {
        let folder = TemporaryFolder.path
        let path = folder + "/thing"
        do {
            let lock = try FileLock(path: path)
            let error = try #require(throws: FileLockError.self) { _ = try FileLock(path: path) }
            #expect(error == .held(path: path, by: getpid()))
            #expect(error.description == "\(path) is in use by process \(getpid())")
            withExtendedLifetime(lock) {}
        }
        #expect(FileManager.default.fileExists(atPath: path + ".lock"))
        _ = try FileLock(path: path)
    }

    @Test("a lock file left by a dead process does not hold the lock")
    func deadHolder() throws {
        let folder = TemporaryFolder.path
        try Data("99999999\n".utf8).write(to: URL(filePath: folder + "/thing.lock"))
        _ = try FileLock(path: folder + "/thing")
        #expect(try String(contentsOf: URL(filePath: folder + "/thing.lock"), encoding: .utf8) == "\(getpid())\n")
    }

    @Test("an error in a missing folder names the file and the cause")
    func noFolder() throws {
        let folder = TemporaryFolder.path
        let error = try #require(throws: FileLockError.self) { _ = try FileLock(path: folder + "/no/thing") }
        #expect(
            error.description == "cannot use the lock file \(folder)/no/thing.lock: No such file or directory")
    }
}
