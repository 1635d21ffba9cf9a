import Foundation
import LockstepTransfer
import Testing

@Suite("Unpacking")
struct InflateTests {
    /// `gzip -n` of "hello".
    private let hello: [UInt8] = [
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0,
    ]
    /// zlib of "hello".
    private let zlib: [UInt8] = [0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 6, 0x2c, 2, 0x15]

    @Test("gzip and zlib are unpacked, and members of gzip are joined")
    func unpack() throws {
        #expect(try Inflate.unpack(hello, limit: 5) == Array("hello".utf8))
        #expect(try Inflate.unpack(zlib, limit: 100) == Array("hello".utf8))
        #expect(try Inflate.unpack(hello + hello, limit: 10) == Array("hellohello".utf8))
    }

    @Test("more than the limit is refused, without unpacking it")
    func limit() throws {
        #expect(throws: Inflate.Problem.tooLarge) { try Inflate.unpack(hello, limit: 4) }
        #expect(throws: Inflate.Problem.tooLarge) { try Inflate.unpack(hello + hello, limit: 9) }
    }

    @Test("damaged and incomplete data are refused")
    func invalid() {
        #expect(throws: Inflate.Problem.invalid) { try Inflate.unpack([], limit: 10) }
        #expect(throws: Inflate.Problem.invalid) { try Inflate.unpack(Array("hello".utf8), limit: 10) }
        for count in 1..<hello.count {
            #expect(throws: Inflate.Problem.invalid) { try Inflate.unpack(Array(hello[..<count]), limit: 10) }
        }
        #expect(throws: Inflate.Problem.invalid) { try Inflate.unpack(hello + [1, 2, 3], limit: 10) }
    }
}
