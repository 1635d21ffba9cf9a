import Testing

@testable import LockstepModel

@Suite("ProcessMemory")
struct ProcessMemoryTests {
    @Test("current and peak memory are parsed from /proc/self/status")
    func status() {
        let status = "Name:\tcollector\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nThreads:\t3\n"
        #expect(ProcessMemory(status: status) == ProcessMemory(current: 1 << 20, peak: 2 << 20))
        #expect(ProcessMemory(status: "Name:\tcollector\n") == nil)
    }

    @Test("the memory grows with an allocation")
    func now() throws {
        let before = try #require(ProcessMemory.now())
        let allocation = [UInt8](repeating: 1, count: 64 << 20)
        let after = try #require(ProcessMemory.now())
        // Other tests in this process may free memory at the same time.
        #expect(after.current - before.current > 32 << 20 && after.peak >= after.current - 1 << 20)
        #expect(allocation.last == 1)
    }
}
