import LockstepTestSupport
import Testing

@Suite("RunningProgram")
struct RunningProgramTests {
    @Test("the whole output is read")
    func wholeOutput() async throws {
        let result = try await RunningProgram.run("/bin/sh", ["-c", "head -c 3000000 /dev/zero | tr '\\0' x; exit 3"])
        #expect(result.status == 3)
        #expect(result.text.utf8.count == 3_000_000)
    }
}
