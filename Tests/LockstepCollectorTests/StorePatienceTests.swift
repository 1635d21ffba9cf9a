import LockstepStore
import Testing

@testable import LockstepCollector

/// Opening a store at the start.
@Suite("Opening a store at the start")
struct StorePatienceTests {
    @Test(
        "a server that does not answer, is busy or reports an error is asked again for a while",
        arguments: [.unreachable, .server, .busy] as [StoreError.Code])
    func passing(code: StoreError.Code) {
        let error = StoreError(code, "")
        #expect(StorePatience.allowsRetry(after: error, elapsed: .zero))
        #expect(StorePatience.allowsRetry(after: error, elapsed: .seconds(4)))
        #expect(!StorePatience.allowsRetry(after: error, elapsed: .seconds(5)))
    }

    @Test(
        "an error that does not pass is reported at once",
        arguments: [.notAllowed, .inUse, .missing, .schema, .streams, .full, .other] as [StoreError.Code])
    func lasting(code: StoreError.Code) {
        #expect(!StorePatience.allowsRetry(after: StoreError(code, ""), elapsed: .zero))
    }

    @Test("the store is opened when its server answers again")
    func again() {
        var attempts = 0
        #expect(throws: StoreError(.missing, "end")) {
            _ = try StorePatience.open { () throws -> any SampleStore in
                attempts += 1
                throw attempts == 1 ? StoreError(.unreachable, "away") : StoreError(.missing, "end")
            }
        }
        #expect(attempts == 2)
    }
}
