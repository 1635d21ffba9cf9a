import LockstepStore
import Logging
import Testing

@testable import LockstepCollector

/// Opening a store at the start.
@Suite("Opening a store at the start")
struct StorePatienceTests {
    private let start = ContinuousClock.now

    @Test("a server that cannot be reached is tried for ever")
    func unreachable() {
        var patience = StorePatience()
        for seconds in [0, 4, 5, 100_000] {
            let isRepeated = patience.allowsRetry(after: StoreError(.unreachable, ""), at: start + .seconds(seconds))
            #expect(isRepeated)
        }
    }

    @Test(
        "a server that is busy or reports an error is asked again for a while, from the first error on",
        arguments: [.server, .busy] as [StoreError.Code])
    func refused(code: StoreError.Code) {
        var patience = StorePatience()
        func allows(_ code: StoreError.Code, _ seconds: Int) -> Bool {
            patience.allowsRetry(after: StoreError(code, ""), at: start + .seconds(seconds))
        }
        // The first attempt may have taken long.
        #expect(allows(code, 60) && allows(code, 64) && !allows(code, 65))
        // The server was restarted meanwhile.
        #expect(allows(.unreachable, 66) && allows(code, 80) && allows(code, 84) && !allows(code, 85))
    }

    @Test(
        "an error that does not pass is reported at once",
        arguments: [.notAllowed, .inUse, .missing, .schema, .streams, .full, .other] as [StoreError.Code])
    func lasting(code: StoreError.Code) {
        var patience = StorePatience()
        let isRepeated = patience.allowsRetry(after: StoreError(code, ""), at: start)
        #expect(!isRepeated)
    }

    @Test("the store is opened when its server answers again, and a stop ends the attempts")
    func again() throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        var attempts = 0
        #expect(throws: StoreError(.missing, "end")) {
            _ = try StorePatience.open(logger: logger) { () throws -> any SampleStore in
                attempts += 1
                throw attempts < 3 ? StoreError(.unreachable, "away") : StoreError(.missing, "end")
            }
        }
        #expect(attempts == 3)
        var isStopping = false
        let store = try StorePatience.open(
            logger: logger, until: { isStopping }, didFail: { isStopping = true },
            { () throws -> any SampleStore in throw StoreError(.unreachable, "away") })
        #expect(store == nil)
    }
}
