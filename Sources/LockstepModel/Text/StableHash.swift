/// A 64-bit hash that is the same in every process, so that it can be stored. FNV-1a with the finalizer of MurmurHash3.
public struct StableHash: Sendable {
    // Inlinable: stores compute the hash of each sample in a loop.
    @usableFromInline var state: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Creates the hash of nothing.
    @inlinable
    public init() {}

    /// Adds the bytes of `text`.
    @inlinable
    public mutating func combine(_ text: some StringProtocol) {
        for byte in text.utf8 { combine(byte: UInt64(byte)) }
    }

    /// Adds bytes, such as those of a text.
    @inlinable
    public mutating func combine(bytes: [UInt8]) {
        for byte in bytes { combine(byte: UInt64(byte)) }
    }

    /// Adds a number in one step.
    @inlinable
    public mutating func combine(_ number: UInt64) {
        combine(byte: number)
        state ^= state >> 32
    }

    @inlinable
    mutating func combine(byte: UInt64) { state = (state ^ byte) &* 0x0000_0100_0000_01B3 }

    /// The hash of everything that was added.
    @inlinable public var value: UInt64 {
        var value = state
        value = (value ^ (value >> 33)) &* 0xFF51_AFD7_ED55_8CCD
        value = (value ^ (value >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        return value ^ (value >> 33)
    }
}
