/// What was left out of a recording: values that are no finite numbers, and rows whose time does not fit.
public struct SkippedValues: Sendable, Hashable {
    /// The number of samples and rows that were left out.
    public private(set) var count = 0
    /// The number of the first line with one, from 1.
    public private(set) var line = 0
    /// Why the first one was left out.
    public private(set) var reason = ""

    mutating func add(line: Int, reason: String) {
        if count == 0 { (self.line, self.reason) = (line, reason) }
        count += 1
    }
}

extension SkippedValues: CustomStringConvertible {
    /// The count and the first case.
    public var description: String {
        (count == 1 ? "1 sample left out" : "\(count) samples left out, the first") + " in line \(line): \(reason)"
    }
}
