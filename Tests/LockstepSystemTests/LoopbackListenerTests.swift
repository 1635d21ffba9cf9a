import Glibc
import Testing

@testable import LockstepSystem

@Suite("Listener on loopback")
struct LoopbackListenerTests {
    @Test("an error that passes does not end a listener, and a closed one ends it")
    func errors() throws {
        #expect([EINTR, ECONNABORTED].map(LoopbackListener.step) == [.repeat, .repeat])
        #expect([EMFILE, ENFILE, ENOBUFS].map(LoopbackListener.step) == [.repeatLater, .repeatLater, .repeatLater])
        #expect([EINVAL, EBADF].map(LoopbackListener.step) == [.end, .end])
        let listener = try LoopbackListener()
        listener.close()
        #expect(listener.accept() == nil)
    }
}
