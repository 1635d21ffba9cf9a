import LockstepModel
import LockstepMotion

extension Condition {
    /// Returns what a notification says after the name of its rule, such as `pressure is 11 hPa, above 10 hPa`.
    /// - Parameter value: the value of the event; nil if it has none.
    func sentence(_ value: Double?) -> String {
        let number = value.map(shortNumber) ?? ""
        switch self {
        case .state(let states, let lasting): return lasts(lasting, choice(states.map(\.rawValue)))
        case .value(let condition): return condition.sentence(number)
        case .shake: return "was shaken" + (value == nil ? "" : " with \(number) g")
        case .fall: return "has fallen" + (value == nil ? "" : ", with an impact of \(number) g")
        case .orientation(let wanted, let lasting): return lasts(lasting, "held \(choice(wanted.map(\.words)))")
        case .activity(let wanted): return "is now \(choice(wanted.map(\.rawValue)))"
        case .steps(let goal, _): return "\(number) steps today, the goal is \(shortNumber(goal))"
        case .place(let condition):
            switch condition.kind {
            case .enter: return "has entered \(condition.name)"
            case .leave: return "has left \(condition.name)"
            case .dwell(let lasting): return lasts(lasting, "at \(condition.name)")
            }
        case .silence(let stream, let lasting):
            return "has sent \(stream.map { "no \($0.name)" } ?? "nothing")\(span(lasting))"
        case .health(.gaps): return number == "1" ? "1 batch is missing" : "\(number) batches are missing"
        case .health(.drops): return "has dropped \(number) \(number == "1" ? "batch" : "batches")"
        case .health(.disk): return "\(number) % of the store's disk is free"
        case .health(.clock):
            let offset = value ?? 0
            return "its clock is \(shortNumber(abs(offset))) s \(offset < 0 ? "behind" : "ahead")"
        }
    }

    private func lasts(_ microseconds: Int64, _ what: String) -> String {
        "\(microseconds > 0 ? "has been" : "is") \(what)\(span(microseconds))"
    }

    private func span(_ microseconds: Int64) -> String {
        microseconds > 0 ? " for \(shortDuration(microseconds))" : ""
    }

    /// Joins words in an order that is the same in every process.
    private func choice(_ words: [String]) -> String { words.sorted().joined(separator: " or ") }
}

extension DeviceOrientation {
    /// The name as words, such as `face up`.
    fileprivate var words: String { rawValue.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined() }
}

extension ValueCondition {
    fileprivate func sentence(_ number: String) -> String {
        let column = stream.columns[column]
        let unit = aggregate == .count || ["", "–"].contains(column.unit) ? "" : " \(column.unit)"
        let subject = aggregate.map { "\($0.rawValue) of \(column.name)" } ?? column.name
        return "\(subject) is \(number)\(unit), \(isAbove ? "above" : "below") \(shortNumber(limit))\(unit)"
    }
}

/// Returns a number with at most four decimals.
package func shortNumber(_ value: Double) -> String {
    let rounded = (value * 10_000).rounded() / 10_000
    return Int64(exactly: rounded).map(String.init) ?? "\(rounded)"
}

/// Returns a duration in the largest unit in which it is a whole number, such as `90 s` or `5 min`.
private func shortDuration(_ microseconds: Int64) -> String {
    let units: [(Int64, String)] = [(86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min")]
    for (size, name) in units where microseconds % size == 0 { return "\(microseconds / size) \(name)" }
    return "\(shortNumber(Double(microseconds) / 1e6)) s"
}
