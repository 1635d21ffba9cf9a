import FoundationEssentials
import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("FileIdentity", .temporaryFolder)
struct FileIdentityTests {
    private let path = TemporaryFolder.path + "/file"

    @Test("a path, a symbolic link and a descriptor of one file have the same identity")
    func sameFile() throws {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        #expect(symlink(path, path + "-link") == 0)
        let identity = try #require(FileIdentity(path: path))
        #expect(FileIdentity(descriptor: descriptor) == identity)
        #expect(FileIdentity(path: path + "-link") == identity)
    }

    @Test("a renamed file keeps its identity, and another file at its path has another one")
    func replacedFile() throws {
        try Data().write(to: URL(filePath: path))
        let identity = try #require(FileIdentity(path: path))
        #expect(rename(path, path + "-moved") == 0)
        #expect(FileIdentity(path: path) == nil)
        try Data().write(to: URL(filePath: path))
        #expect(FileIdentity(path: path) != identity)
        #expect(FileIdentity(path: path + "-moved") == identity)
    }

    @Test("a removed file keeps its identity while it is open, and its path has none")
    func removedFile() throws {
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let identity = try #require(FileIdentity(path: path))
        #expect(unlink(path) == 0)
        #expect(FileIdentity(path: path) == nil)
        #expect(FileIdentity(descriptor: descriptor) == identity)
        #expect(FileIdentity(descriptor: -1) == nil)
    }
}
