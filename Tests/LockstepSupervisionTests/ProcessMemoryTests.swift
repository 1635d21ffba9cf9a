import Testing

@testable import LockstepSupervision

@Suite("The memory of this process")
struct ProcessMemoryTests {
    @Test("is what the kernel says, in bytes")
    func status() {
        let status = "Name:\tcollector\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t3\n"
        #expect(ProcessMemory(status: status) == ProcessMemory(current: 1 << 20, peak: 2 << 20))
        #expect(ProcessMemory(status: "Name:\tcollector\n") == nil)
    }

    @Test("follows what the process takes")
    func now() throws {
        let before = try #require(ProcessMemory.now())
        let ballast = [UInt8](repeating: 1, count: 64 << 20)
        let after = try #require(ProcessMemory.now())
        // Other tests of this process may give some back meanwhile.
        #expect(after.current - before.current > 32 << 20 && after.peak >= after.current - 1 << 20)
        #expect(ballast.last == 1)
    }
}
