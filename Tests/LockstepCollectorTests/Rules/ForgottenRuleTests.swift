import LockstepCommandLine
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepCollector

@Suite("Rules about forgotten devices")
struct ForgottenRuleTests {
    @Test("no rule notifies about the silence of a forgotten device, until it has returned", arguments: [true, false])
    func forgotten(isForgotten: Bool) async throws {
        try await withTemporaryFolder { folder in
            let store = try SQLiteStore(path: folder + "/store.db")
            let rules = try parseRules(ForgottenRules.rules, file: "rules.yaml")
            store.setObserver(try RuleObserver(rules, store: store, folder: folder))
            #expect(try ForgottenRules().evaluate(store, isForgotten: isForgotten) == [isForgotten ? 0 : 1, 1, 1])
        }
    }
}
