/// The kernel's description of one value in a scan: `[be|le]:[s|u]bits/storage[Xrepeat]>>shift`.
package struct ScanType: Sendable, Hashable {
    package let isBigEndian: Bool
    package let isSigned: Bool
    /// The number of significant bits, from 1 up to ``storageBits``.
    package let bits: Int
    /// The number of stored bits: 8, 16, 32 or 64.
    package let storageBits: Int
    /// The number of repeated values; only the first is read.
    package let repeats: Int
    /// The number of low bits to discard.
    package let shift: Int

    /// Parses a description such as `le:s12/16>>4` or `be:u16/32X2>>0`; nil if the text has another form.
    package init?(_ text: String) {
        var rest = Substring(text)
        func take(_ token: String) -> Bool {
            guard rest.hasPrefix(token) else { return false }
            rest = rest.dropFirst(token.count)
            return true
        }
        func takeNumber() -> Int? {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            return Int(digits)
        }
        let isBigEndian = take("be:")
        guard isBigEndian || take("le:") else { return nil }
        let isSigned = take("s")
        guard isSigned || take("u") else { return nil }
        guard let bits = takeNumber(), take("/"), let storage = takeNumber() else { return nil }
        var repeats = 1
        if take("X") {
            guard let number = takeNumber() else { return nil }
            repeats = number
        }
        guard take(">>"), let shift = takeNumber(), rest.isEmpty, [8, 16, 32, 64].contains(storage),
            (1...storage).contains(bits), (1...256).contains(repeats), shift <= storage - bits
        else { return nil }
        self.isBigEndian = isBigEndian
        self.isSigned = isSigned
        self.bits = bits
        storageBits = storage
        self.repeats = repeats
        self.shift = shift
    }

    /// The size in a scan and its alignment, in bytes.
    package var byteCount: Int { storageBits / 8 * repeats }

    /// Returns the first value in `bytes` as an integer. An unsigned 64-bit value above `Int64.max` becomes negative.
    /// - Precondition: `bytes` has at least ``storageBits`` bits.
    package func integer(in bytes: ArraySlice<UInt8>) -> Int64 {
        let storage = bytes.prefix(storageBits / 8)
        let whole =
            isBigEndian
            ? storage.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            : storage.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // Shifting to the top and back removes the bits above the value and extends its sign.
        let top = (whole >> UInt64(shift)) << UInt64(64 - bits)
        return isSigned ? Int64(bitPattern: top) >> Int64(64 - bits) : Int64(bitPattern: top >> UInt64(64 - bits))
    }

    /// Returns the first value in `bytes`.
    /// - Precondition: `bytes` has at least ``storageBits`` bits.
    package func value(in bytes: ArraySlice<UInt8>) -> Double {
        let integer = integer(in: bytes)
        return isSigned ? Double(integer) : Double(UInt64(bitPattern: integer))
    }

    /// The smallest and largest value that the type can hold.
    package var range: ClosedRange<Double> {
        if isSigned { return Double(Int64.min >> Int64(64 - bits))...Double(Int64.max >> Int64(64 - bits)) }
        return 0...Double(UInt64.max >> UInt64(64 - bits))
    }
}

/// The positions of the values in a scan. The enabled elements follow each other in the order of their index. Each is
/// aligned to its own size, and the scan to its largest element.
package struct ScanLayout: Sendable, Hashable {
    /// One value of a scan.
    package struct Element: Sendable, Hashable {
        /// The name of the channel, such as `accel_x` or `timestamp`.
        package let name: String
        /// The kernel's index, which determines the order.
        package let index: Int
        package let type: ScanType

        package init(name: String, index: Int, type: ScanType) {
            self.name = name
            self.index = index
            self.type = type
        }
    }

    /// The position and type of an element.
    package struct Place: Sendable, Hashable {
        /// The offset from the start of the scan, in bytes.
        package let offset: Int
        package let type: ScanType
    }

    /// The size of a scan in bytes; 0 if no element is enabled.
    package let byteCount: Int
    private let places: [String: Place]

    package init(_ elements: [Element]) {
        var places: [String: Place] = [:]
        var end = 0
        var largest = 1
        for element in elements.sorted(by: { $0.index < $1.index }) {
            let size = element.type.byteCount
            let offset = Self.roundUp(end, to: size)
            places[element.name] = Place(offset: offset, type: element.type)
            end = offset + size
            largest = max(largest, size)
        }
        self.places = places
        byteCount = Self.roundUp(end, to: largest)
    }

    /// The place of an element; nil if it is not enabled.
    package subscript(name: String) -> Place? { places[name] }

    private static func roundUp(_ number: Int, to multiple: Int) -> Int {
        (number + multiple - 1) / multiple * multiple
    }
}
