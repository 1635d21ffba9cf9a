extension MQTTOptions {
    /// Returns the client id `lockstep-PART-PART…`. Different lists of parts have different client ids.
    ///
    /// It has only letters, digits, `-` and `_`, which every broker accepts, whatever the names of devices are: NATS
    /// servers since 2.10 refuse a dot. In a part, `_` precedes `-` and `_`, and any other byte becomes `_` and two
    /// hexadecimal digits: the device `left-foot.2` in the group `lab` has `lockstep-agent-lab-left_-foot_2E2`.
    public static func clientID(_ parts: String...) -> String {
        var bytes = Array("lockstep".utf8)
        for part in parts {
            bytes.append(hyphen)
            for byte in part.utf8 { append(byte, to: &bytes) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

private let hyphen = UInt8(ascii: "-")
private let escape = UInt8(ascii: "_")
private let digits = Array("0123456789ABCDEF".utf8)

private func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        bytes.append(byte)
    case hyphen, escape: bytes += [escape, byte]
    default: bytes += [escape, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
}
