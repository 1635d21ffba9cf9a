/// Suggests a known name for a mistyped one.
enum Suggestion {
    /// Returns `: did you mean 'NAME'?` for the most similar name, or an empty text if none is similar.
    static func text(for name: String, among known: [String]) -> String {
        let candidates = known.map { (name: $0, distance: distance(name.lowercased(), $0.lowercased())) }
        guard let best = candidates.min(by: { $0.distance < $1.distance }), best.distance <= max(1, name.count / 3)
        else { return "" }
        return ": did you mean '\(best.name)'?"
    }

    /// Returns the number of inserted, deleted, replaced and swapped characters (optimal string alignment distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        var rows = [Array(0...right.count)]
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replaced = rows[row][column] + (right[column] == left[row] ? 0 : 1)
                var best = min(replaced, rows[row][column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    best = min(best, rows[row - 1][column - 1] + 1)
                }
                current.append(best)
            }
            rows.append(current)
        }
        return rows[left.count][right.count]
    }
}
