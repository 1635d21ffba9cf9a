import LockstepSensors

/// Pieces of JSON that decoders handle specially.
private let fragments = [
    "null", "NaN", "-", "1e999", "1e-400", "9223372036854775807", "-9223372036854775808", "[", "]", "{", "}", ",",
    ":",
    "\"", "\\", "\\u0000", "\\ud800", "true", "0", "1.5", "\"live\":false,", "\"t\":1,", "\"dt\":[", "\"seq\":0,",
    "\u{0}",
].map { Array($0.utf8) }

/// Returns `payload` after one to three random changes, which replace, remove, duplicate or insert bytes.
func damage(_ payload: [UInt8], using random: inout SeededGenerator) -> [UInt8] {
    var bytes = payload
    for _ in 0..<Int.random(in: 1...3, using: &random) {
        let at = Int.random(in: 0..<max(1, bytes.count), using: &random)
        switch Int.random(in: 0..<7, using: &random) {
        case 0 where !bytes.isEmpty: bytes[at] = UInt8.random(in: .min ... .max, using: &random)
        case 1 where !bytes.isEmpty: bytes[at] ^= 1 << UInt8.random(in: 0...7, using: &random)
        case 2: bytes.removeSubrange(at..<min(bytes.count, at + Int.random(in: 1...8, using: &random)))
        case 3: bytes.insert(contentsOf: fragments.randomElement(using: &random) ?? [], at: min(at, bytes.count))
        case 4: bytes = Array(bytes.prefix(at))
        case 5 where !bytes.isEmpty: bytes[at] = UInt8(ascii: "0") + UInt8.random(in: 0...9, using: &random)
        default:
            let from = Int.random(in: 0...at, using: &random)
            if at <= bytes.count { bytes.insert(contentsOf: bytes[from..<at].prefix(40), at: at) }
        }
    }
    return bytes
}
