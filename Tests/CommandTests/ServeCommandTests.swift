import Foundation
import LockstepTestSupport
import Testing

@Suite("lockstep-serve")
struct ServeCommandTests {
    @Test("an unknown setting is refused with its place")
    func unknownSetting() async throws {
        try await withTemporaryFolder { folder in
            let file = folder + "/serve.yaml"
            // Without the check of the keys, the tokens that do not exist end the program.
            try "token-file: \(folder)/missing\nread-onyl: true\n".write(
                toFile: file, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(Programs.built("lockstep-serve"), ["--config", file])
            #expect(run.status != 0)
            #expect(run.text.contains("\(file):2: unknown key 'read-onyl' of the file"), "\(run.text)")
        }
    }
}
