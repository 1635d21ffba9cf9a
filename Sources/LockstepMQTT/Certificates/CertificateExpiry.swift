import FoundationEssentials

/// Reads when X.509 certificates expire.
///
/// Only the validity is read, which takes a few elements of the encoding. A library for certificates would have to be linked
/// into every program; OpenSSL is loaded by libmosquitto, and may be missing.
enum CertificateExpiry {
    /// Returns the ends of the validity of the certificates in a PEM file, in µs since 1970; empty if it cannot be read.
    @Sendable
    static func microseconds(inFile path: String) -> [Int64] {
        (try? String(contentsOfFile: path, encoding: .utf8)).map(microseconds(inPEM:)) ?? []
    }

    /// Returns the ends of the validity of the certificates in a PEM text, in µs since 1970.
    static func microseconds(inPEM text: String) -> [Int64] {
        var expiries: [Int64] = []
        var body: String?
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("-----BEGIN CERTIFICATE") || line.hasPrefix("-----BEGIN TRUSTED CERTIFICATE") {
                body = ""
            } else if line.hasPrefix("-----END"), let encoded = body {
                body = nil
                let certificate = Data(base64Encoded: encoded, options: .ignoreUnknownCharacters)
                if let expiry = certificate.flatMap({ microseconds(inDER: Array($0)) }) { expiries.append(expiry) }
            } else {
                body? += line
            }
        }
        return expiries
    }

    /// Returns the end of the validity of a certificate in DER, in µs since 1970, or nil if it is malformed.
    static func microseconds(inDER bytes: [UInt8]) -> Int64? {
        var outer = DERReader(bytes[...])
        guard var certificate = outer.next(0x30).map(DERReader.init),
            var content = certificate.next(0x30).map(DERReader.init)
        else { return nil }
        // The version is optional; serial number, algorithm and issuer follow.
        _ = content.next(0xA0)
        guard content.next(0x02) != nil, content.next(0x30) != nil, content.next(0x30) != nil,
            var validity = content.next(0x30).map(DERReader.init),
            validity.next(0x17) ?? validity.next(0x18) != nil
        else { return nil }
        if let text = validity.next(0x17) { return microseconds(ofTime: text, yearDigits: 2) }
        return validity.next(0x18).flatMap { microseconds(ofTime: $0, yearDigits: 4) }
    }

    /// Returns a time such as `260131235959Z` in µs since 1970.
    private static func microseconds(ofTime text: ArraySlice<UInt8>, yearDigits: Int) -> Int64? {
        let digits = text.dropLast().map { Int64($0) - 0x30 }
        guard text.last == UInt8(ascii: "Z"), digits.count == yearDigits + 10,
            digits.allSatisfy({ (0...9).contains($0) })
        else {
            return nil
        }
        func number(_ range: Range<Int>) -> Int64 { digits[range].reduce(0) { $0 * 10 + $1 } }
        let part = (0..<5).map { number(yearDigits + 2 * $0..<yearDigits + 2 * $0 + 2) }
        let year = number(0..<yearDigits) + (yearDigits == 4 ? 0 : number(0..<2) < 50 ? 2000 : 1900)
        guard (1...12).contains(part[0]), (1...31).contains(part[1]) else { return nil }
        // Days since 1970-01-01, with years that begin in March, so that a leap day is the last one.
        let shifted = part[0] > 2 ? year : year - 1
        let months = (part[0] + 9) % 12
        let days =
            365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * months + 2) / 5 + part[1] - 1 - 719_468
        return ((days * 24 + part[2]) * 60 + part[3]) * 60_000_000 + part[4] * 1_000_000
    }
}

/// Reads the elements of a DER encoding.
private struct DERReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Returns the content of the next element if it has this tag.
    mutating func next(_ tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.first == tag, var length = rest.dropFirst().first.map(Int.init) else { return nil }
        var content = rest.dropFirst(2)
        if length >= 0x80 {
            let count = length & 0x7F
            guard (1...4).contains(count), content.count >= count else { return nil }
            length = content.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            content = content.dropFirst(count)
        }
        guard content.count >= length else { return nil }
        rest = content.dropFirst(length)
        return content.prefix(length)
    }
}
