package import LockstepModel

/// Writes a JSON object with its members in call order.
///
/// Foundation's encoder does not preserve the order of keys, which makes payloads hard to read.
package struct JSONObjectWriter {
    /// The JSON written so far.
    package private(set) var bytes: [UInt8] = [UInt8(ascii: "{")]

    /// Starts an object and reserves memory for its JSON.
    package init(reservingCapacity capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Closes the object and returns its JSON.
    package mutating func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// Writes a member with an integer.
    package mutating func member(_ name: String, _ value: Int64) {
        key(name)
        raw(String(value))
    }

    /// Writes a member with a number. Whole numbers are written without a fraction.
    /// - Precondition: `value` is finite.
    package mutating func member(_ name: String, _ value: Double) {
        key(name)
        raw(Int64(exactly: value).map(String.init) ?? value.description)
    }

    /// Writes a member whose value is JSON already.
    package mutating func member(_ name: String, json: String) {
        key(name)
        raw(json)
    }

    /// Writes a member with true or false.
    package mutating func member(_ name: String, _ value: Bool) {
        key(name)
        raw(value ? "true" : "false")
    }

    /// Writes a member with a string.
    package mutating func member(_ name: String, _ value: String) {
        key(name)
        string(value)
    }

    /// Writes a member with a string, or nothing if `value` is nil.
    package mutating func member(_ name: String, ifPresent value: String?) {
        if let value { member(name, value) }
    }

    /// Writes a member with an integer, or nothing if `value` is nil.
    package mutating func member(_ name: String, ifPresent value: Int64?) {
        if let value { member(name, value) }
    }

    /// Writes a member with a string, or with null if `value` is nil.
    package mutating func member(_ name: String, orNull value: String?) {
        if let value { member(name, value) } else { nullMember(name) }
    }

    /// Writes a member with an integer, or with null if `value` is nil.
    package mutating func member(_ name: String, orNull value: Int64?) {
        if let value { member(name, value) } else { nullMember(name) }
    }

    /// Writes a member with null.
    package mutating func nullMember(_ name: String) {
        key(name)
        null()
    }

    /// Writes a member with an array of integers.
    package mutating func member(_ name: String, _ values: some Collection<Int64>) {
        key(name)
        array(values) { $0.raw(String($1)) }
    }

    /// Writes a member with an array of pairs `[from, to]`, both inclusive.
    package mutating func member(_ name: String, ranges: [ClosedRange<Int64>]) {
        key(name)
        array(ranges) { $0.raw("[\($1.lowerBound),\($1.upperBound)]") }
    }

    /// Writes a member with an object of strings, sorted by key.
    package mutating func member(_ name: String, _ values: [String: String]) {
        member(name) { object in
            for (key, value) in values.sorted(by: { $0.key < $1.key }) { object.member(key, value) }
        }
    }

    /// Writes a member with an object of batch numbers, sorted by epoch.
    package mutating func member(_ name: String, _ numbers: [Epoch: Int64]) {
        member(name) { object in
            for (epoch, number) in numbers.sorted(by: { $0.key < $1.key }) { object.member(epoch.rawValue, number) }
        }
    }

    /// Writes a member with an object whose members `write` appends.
    package mutating func member(_ name: String, write: (inout JSONObjectWriter) -> Void) {
        key(name)
        object(write)
    }

    /// Writes an array element: an object whose members `write` appends.
    package mutating func object(_ write: (inout JSONObjectWriter) -> Void) {
        var object = JSONObjectWriter()
        write(&object)
        bytes += object.finish()
    }

    /// Writes a member with an array. `write` is called for each element and appends its JSON.
    package mutating func member<Element>(
        _ name: String, _ values: some Collection<Element>, write: (inout JSONObjectWriter, Element) -> Void
    ) {
        key(name)
        array(values, write: write)
    }

    /// Writes null.
    package mutating func null() { raw("null") }
    /// Writes `text` unchanged, without quotes or escapes.
    package mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// Writes `text` as a JSON string, with quotes and escapes.
    package mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        raw(text.jsonText)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes the name of a member, whose value must follow.
    package mutating func key(_ name: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
    }

    private mutating func array<Element>(
        _ values: some Collection<Element>, write: (inout JSONObjectWriter, Element) -> Void
    ) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for value in values {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, value)
        }
        bytes.append(UInt8(ascii: "]"))
    }
}
