import LockstepHTTP
import LockstepModel

/// The query parameters of a request, checked against the parameters of its route.
struct QueryParameters: Sendable {
    private let values: [String: [String]]

    /// - Parameter allowed: the parameters of the route; those in `repeatable` may occur more than once.
    /// - Throws: ``Problem`` for an unknown or repeated parameter.
    init(
        _ query: [(name: String, value: String)], allowed: [String], repeatable: Set<String> = []
    ) throws(Problem) {
        var values: [String: [String]] = [:]
        for (name, value) in query {
            guard allowed.contains(name) else {
                let known = allowed.isEmpty ? "it has none" : "it has \(allowed.joined(separator: ", "))"
                throw .badRequest("this resource has no parameter '\(name.prefix(80))': \(known)")
            }
            if values[name] != nil, !repeatable.contains(name) {
                throw .badRequest("the parameter '\(name)' occurs twice: use it once")
            }
            values[name, default: []].append(value)
        }
        self.values = values
    }

    /// Returns the values of a parameter that may occur more than once.
    func all(_ name: String) -> [String] { values[name] ?? [] }

    /// Returns the parsed value of a parameter, or nil if it is absent.
    /// - Throws: ``Problem`` with the text of the error of `parse`.
    func value<Value>(_ name: String, parse: (String) throws -> Value) throws(Problem) -> Value? {
        guard let text = values[name]?.first else { return nil }
        do { return try parse(text) } catch let problem as Problem { throw problem } catch {
            throw .badRequest("\(name): \(error)")
        }
    }

    /// Returns the whole number of a parameter, or nil if it is absent.
    /// - Throws: ``Problem`` for any other text.
    func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        try value(name) { text in
            guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
                throw Problem.badRequest(
                    "\(name): '\(text.prefix(80))' is not a whole number from \(range.lowerBound) to "
                        + "\(range.upperBound)")
            }
            return number
        }
    }

    /// Returns the time of a parameter, or nil if it is absent.
    /// - Throws: ``Problem`` for any other text.
    func time(_ name: String, now: Timestamp) throws(Problem) -> Timestamp? {
        try value(name) { text in
            let before = text == "now" ? 0 : text.hasPrefix("-") ? LockstepModel.duration(of: text.dropFirst()) : nil
            guard let time = before.map({ now - $0 }) ?? Timestamp(text),
                (-Self.latest.microseconds...Self.latest.microseconds).contains(time.microseconds)
            else {
                throw Problem.badRequest(
                    "\(name): '\(text.prefix(80))' is not a time: use 2026-11-21T09:30:00Z, µs since 1970, now, or a "
                        + "duration before now such as -5m")
            }
            return time
        }
    }

    /// The latest time whose number of µs a JavaScript number represents exactly.
    static let latest = Timestamp(microseconds: 9_007_199_254_740_991)

    /// Returns the duration of a parameter in µs, or nil if it is absent.
    /// - Throws: ``Problem`` for any other text.
    func duration(_ name: String, in range: ClosedRange<Int64>, _ bounds: String) throws(Problem) -> Int64? {
        try value(name) { text in
            guard let duration = LockstepModel.duration(of: text), range.contains(duration) else {
                throw Problem.badRequest(
                    "\(name): '\(text.prefix(80))' is not a duration \(bounds), such as 250ms, 10s, 5m or 1h")
            }
            return duration
        }
    }
}
