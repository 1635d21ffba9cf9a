import Testing

@testable import LockstepCommandLine

@Suite("The response to signals that end a program")
struct TerminationRequestsTests {
    @Test("signals within a second of the first one belong to it, and a later one ends the process")
    func responses() {
        var requests = TerminationRequests()
        let start = ContinuousClock.now
        #expect(requests.receive(at: start) == .shutDown)
        #expect(requests.receive(at: start) == .ignore)
        #expect(requests.receive(at: start + .milliseconds(999)) == .ignore)
        #expect(requests.receive(at: start + .seconds(1)) == .end)
    }
}
