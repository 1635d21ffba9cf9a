import FoundationEssentials
import LockstepModel

/// The members of a JSON object, whose errors name the path of a member, such as `'rate.hz' is not a number`.
struct JSONMembers: JSONReadable {
    private let members: [String: JSONValue]
    private let path: String

    /// Parses a payload that is one object.
    init(_ payload: Data) throws(PayloadError) {
        self = try payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in try JSONMembers(bytes) }
        }.get()
    }

    /// Parses a payload that is one object. It only has to be valid during the call.
    init(_ payload: UnsafeRawBufferPointer) throws(PayloadError) {
        let value: JSONValue
        do { value = try JSONParser.parse(payload).value } catch { throw .notJSON(error) }
        self = try Self.read(value, at: "")
    }

    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> JSONMembers {
        guard case .object(let members) = value else { throw .wrongType("an object", at: path()) }
        return JSONMembers(members: members, path: path())
    }

    private init(members: [String: JSONValue], path: String) {
        self.members = members
        self.path = path
    }

    /// Returns whether there is a member with this name, even if it is null.
    func contains(_ name: String) -> Bool { members[name] != nil }

    /// Returns a member that must not be missing.
    func required<Value: JSONReadable>(_ name: String) throws(PayloadError) -> Value {
        guard let value = members[name] else { throw PayloadError("'\(path(of: name))' is missing") }
        return try Value.read(value, at: path(of: name))
    }

    /// Returns a member, or nil if it is missing or null.
    func optional<Value: JSONReadable>(_ name: String) throws(PayloadError) -> Value? {
        guard let value = members[name], value != .null else { return nil }
        return try Value.read(value, at: path(of: name))
    }

    /// Returns a member with a batch number for each epoch, or nil if it is missing or null.
    func numbers(_ name: String) throws(PayloadError) -> [Epoch: Int64]? {
        guard let numbers: [String: Int64] = try optional(name) else { return nil }
        var result: [Epoch: Int64] = [:]
        for (epoch, number) in numbers { result[try Epoch.read(.string(epoch), at: path(of: name))] = number }
        return result
    }

    private func path(of name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}

/// A type that is read from a JSON value.
protocol JSONReadable {
    /// Reads a value.
    /// - Parameter path: where the value is in the payload; empty for the payload itself.
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Self
}

extension PayloadError {
    /// The error for a value with another type than `type`, such as `a number`.
    fileprivate static func wrongType(_ type: String, at path: String) -> PayloadError {
        PayloadError("\(path.isEmpty ? "the payload" : "'\(path)'") is not \(type)")
    }
}

extension String: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> String {
        guard let text = value.string else { throw .wrongType("a string", at: path()) }
        return text
    }
}

extension Bool: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Bool {
        guard let flag = value.bool else { throw .wrongType("true or false", at: path()) }
        return flag
    }
}

extension Double: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Double {
        guard let number = value.number else { throw .wrongType("a number", at: path()) }
        return number
    }
}

extension Int64: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Int64 {
        guard let number = value.integer else { throw .wrongType("a whole number", at: path()) }
        return number
    }
}

extension Int: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Int {
        guard let number = value.integer.flatMap(Int.init(exactly:)) else {
            throw .wrongType("a whole number", at: path())
        }
        return number
    }
}

extension Timestamp: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Timestamp {
        Timestamp(microseconds: try Int64.read(value, at: path()))
    }
}

extension Optional: JSONReadable where Wrapped: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Wrapped? {
        value == .null ? nil : try Wrapped.read(value, at: path())
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> [Element] {
        guard case .array(let items) = value else { throw .wrongType("an array", at: path()) }
        var elements: [Element] = []
        elements.reserveCapacity(items.count)
        for (index, item) in items.enumerated() { elements.append(try Element.read(item, at: "\(path())[\(index)]")) }
        return elements
    }
}

extension Dictionary: JSONReadable where Key == String, Value: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> [String: Value] {
        guard case .object(let members) = value else { throw .wrongType("an object", at: path()) }
        var values: [String: Value] = [:]
        for (name, member) in members { values[name] = try Value.read(member, at: "\(path()).\(name)") }
        return values
    }
}

// Words of the life cycle, and identifiers.

extension JSONReadable where Self: RawRepresentable<String> {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Self {
        guard let word = Self(rawValue: try String.read(value, at: path())) else {
            throw PayloadError("'\(path())' has an unknown value")
        }
        return word
    }
}

extension LifecycleState: JSONReadable {}
extension Phase: JSONReadable {}

extension Epoch: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> Epoch {
        let text = try String.read(value, at: path())
        do { return try Epoch(validating: text) } catch { throw PayloadError(error.description) }
    }
}

extension CollectorID: JSONReadable {
    static func read(_ value: JSONValue, at path: @autoclosure () -> String) throws(PayloadError) -> CollectorID {
        let text = try String.read(value, at: path())
        do { return try CollectorID(validating: text) } catch { throw PayloadError(error.description) }
    }
}
