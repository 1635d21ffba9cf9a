/// Suggests a known name for a mistyped one.
enum Suggestion {
    /// Returns `: did you mean 'NAME'?` for the most similar name, or an empty text if none is similar.
    static func text(for name: String, among known: [String]) -> String {
        let candidates = known.map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
        guard let best = candidates.min(by: { $0.distance < $1.distance }), best.distance <= max(1, name.count / 3)
        else { return "" }
        return ": did you mean '\(best.name)'?"
    }

    /// Returns the number of inserted, deleted and replaced characters (Levenshtein distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var previous = Array(0...right.count)
        for (row, character) in left.enumerated() {
            var current = [row + 1]
            for column in right.indices {
                let replaced = previous[column] + (right[column] == character ? 0 : 1)
                current.append(min(replaced, previous[column + 1] + 1, current[column] + 1))
            }
            previous = current
        }
        return previous[right.count]
    }
}
