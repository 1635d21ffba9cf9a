import LockstepTestSupport
import Testing

@testable import LockstepClickHouse

@Suite(
    "Rules about forgotten devices in ClickHouse",
    .enabled(if: TestClickHouse.isInstalled, "ClickHouse is not installed"))
struct ForgottenRuleTests {
    @Test("no rule notifies about the silence of a forgotten device, until it has returned", arguments: [true, false])
    func forgotten(isForgotten: Bool) async throws {
        try await withClickHouse { server in
            let store = try RuleTests().open(server)
            try RuleTests().observe(store, ForgottenRules.rules)
            #expect(try ForgottenRules().evaluate(store, isForgotten: isForgotten) == [isForgotten ? 0 : 1, 1, 1])
        }
    }
}
