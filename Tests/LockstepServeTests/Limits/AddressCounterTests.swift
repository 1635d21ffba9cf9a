import LockstepHTTP
import Testing

@Suite("Limits by address")
struct AddressCounterTests {
    @Test("an address is refused at its maximum until one of its places is released")
    func maximum() {
        let counter = AddressCounter(maximum: 2)
        let first = counter.enter("a")
        var second = counter.enter("a")
        #expect(first != nil && second != nil)
        #expect(counter.enter("a") == nil)
        #expect(counter.enter("b") != nil, "another address has places of its own")
        second = nil
        second = counter.enter("a")
        #expect(second != nil)
        withExtendedLifetime((first, second)) {}
    }

    @Test("addresses that hold nothing are forgotten")
    func forgotten() {
        let counter = AddressCounter(maximum: 2)
        _ = counter.enter("a")
        #expect(counter.addresses == 0)
    }
}
