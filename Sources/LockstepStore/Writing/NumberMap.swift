/// A dictionary keyed by numbers that are mostly small, such as the ids of devices.
///
/// Small keys are indexes of an array, so that a lookup needs no hash. Negative and large keys are kept in a dictionary,
/// which limits the memory if a key is out of the ordinary.
struct NumberMap<Value> {
    /// The number of keys that are indexes of the array.
    static var arrayLimit: Int { 1 << 18 }

    private var array: [Value?] = []
    private var others: [Int: Value] = [:]

    /// Creates an empty map.
    init() {}

    /// The value of a key, or nil if there is none.
    subscript(key: Int) -> Value? {
        // Usually one field of the value is read. If this is inlined, the others are not copied.
        @inline(__always)
        get { key >= 0 && key < array.count ? array[key] : Self.isIndex(key) ? nil : others[key] }
        _modify {
            if Self.isIndex(key) {
                if key >= array.count { grow(to: key) }
                yield &array[key]
            } else {
                yield &others[key]
            }
        }
    }

    /// The value of a key, for a change in place. A missing value is first set to the default value.
    subscript(key: Int, default value: @autoclosure () -> Value) -> Value {
        get { self[key] ?? value() }
        _modify {
            if Self.isIndex(key) {
                if key >= array.count { grow(to: key) }
                if array[key] == nil { array[key] = value() }
                // Safe: the value was set above.
                // swift-format-ignore: NeverForceUnwrap
                yield &array[key]!
            } else {
                yield &others[key, default: value()]
            }
        }
    }

    /// The keys in ascending order.
    var keys: [Int] {
        let large = others.keys.sorted()
        return large.prefix { $0 < 0 } + array.indices.filter { array[$0] != nil } + large.drop { $0 < 0 }
    }

    private static func isIndex(_ key: Int) -> Bool { key >= 0 && key < arrayLimit }

    private mutating func grow(to key: Int) {
        array.append(contentsOf: repeatElement(nil, count: key + 1 - array.count))
    }
}
