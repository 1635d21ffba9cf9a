/// A set of times as text: the first time, and then the differences of consecutive times. `1700000000000000 20000x49 20001`
/// are 51 times.
enum TimeList {
    /// Returns the text of `times`.
    static func encode(_ times: Set<Int64>) -> String {
        let sorted = times.sorted()
        guard let first = sorted.first else { return "" }
        var parts = ["\(first)"]
        var (difference, count): (Int64, Int) = (0, 0)
        func end() {
            if count > 0 { parts.append(count == 1 ? "\(difference)" : "\(difference)x\(count)") }
        }
        for (time, next) in zip(sorted, sorted.dropFirst()) {
            // The difference of two times may overflow. Adding it again restores the time.
            if next &- time != difference {
                end()
                (difference, count) = (next &- time, 0)
            }
            count += 1
        }
        end()
        return parts.joined(separator: " ")
    }

    /// Returns the times of `text`, or nil if it is not the text of times.
    static func decode(_ text: String) -> Set<Int64>? {
        var times: Set<Int64> = []
        var last: Int64?
        for part in text.split(separator: " ") {
            let fields = part.split(separator: "x", omittingEmptySubsequences: false)
            guard fields.count <= 2, let number = Int64(fields[0]) else { return nil }
            guard let start = last else {
                guard fields.count == 1 else { return nil }
                times.insert(number)
                last = number
                continue
            }
            guard let count = fields.count == 2 ? Int(fields[1]) : 1, count > 0 else { return nil }
            var time = start
            for _ in 0..<count {
                time &+= number
                times.insert(time)
            }
            last = time
        }
        return times
    }
}
