import LockstepSensors

/// Damages input at random, in ways that often break parsers.
struct Mutator {
    private static let fragments =
        [
            "null", "NaN", "-", "+", "1e999", "1e-400", "0x10", "9223372036854775807", "-9223372036854775808",
            "9007199254740992", "18446744073709551616", "[", "]", "{", "}", ",", ":", ";", "\"", "\\", "\\u0000",
            "\\ud800",
            "true", "0", "1.5", "\n", "\r\n", " ", "/", "#", ">>", "\u{0}", "\u{FEFF}", "é", "\"t\":1,", "\"dt\":[",
            "\"v\":2,",
        ].map { Array($0.utf8) } + pieces

    /// Fragments of CBOR: heads with huge and missing lengths, floats, null, tags, and a packed series.
    private static let pieces: [[UInt8]] = [
        [0x1b] + Array(repeating: 0xff, count: 8), [0x9b, 0x7f, 0xff], [0xbf], [0x5f], [0xff], [0xf6],
        [0xf9, 0x7e, 0x00],
        [0xfb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0], [0xd8, 0x55], [0xd8, 0x56], [0x81], [0x40],
        [0x44, 0x00, 0x40, 0x01, 0x02],
        [0x61, 0x74, 0x01], [0x62, 0x64, 0x74],
    ]

    /// The maximum size of an input, in bytes.
    private static let maxSize = 1 << 16

    var random: SeededGenerator

    /// Returns an input of the corpus, or parts of two joined, damaged in one to four places.
    mutating func next(of corpus: [[UInt8]]) -> [UInt8] {
        guard var bytes = corpus.randomElement(using: &random) else { return [] }
        if Int.random(in: 0..<16, using: &random) == 0, let other = corpus.randomElement(using: &random) {
            bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random)))
            bytes += other.suffix(Int.random(in: 0...other.count, using: &random))
        }
        for _ in 0..<Int.random(in: 1...4, using: &random) { damage(&bytes) }
        return Array(bytes.prefix(Self.maxSize))
    }

    private mutating func damage(_ bytes: inout [UInt8]) {
        let at = Int.random(in: 0...bytes.count, using: &random)
        let rest = bytes.count - at
        switch Int.random(in: 0..<9, using: &random) {
        case 0 where rest > 0: bytes[at] = .random(in: .min ... .max, using: &random)
        case 1 where rest > 0: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(at..<at + min(rest, Int.random(in: 1...8, using: &random)))
        case 3, 4: bytes.insert(contentsOf: Self.fragments.randomElement(using: &random) ?? [], at: at)
        case 5: bytes.removeLast(rest)
        case 6 where rest > 0: bytes[at] = UInt8(ascii: "0") + .random(in: 0...9, using: &random)
        case 7:
            // Repeat a piece many times: deep nesting, long numbers, long arrays.
            let piece = bytes[at..<at + min(rest, Int.random(in: 1...6, using: &random))]
            let times = 1 << Int.random(in: 0...10, using: &random)
            bytes.insert(contentsOf: repeatElement(piece, count: times).joined(), at: at)
        default:
            let from = Int.random(in: 0...at, using: &random)
            bytes.insert(contentsOf: bytes[from..<at].prefix(40), at: at)
        }
    }
}
