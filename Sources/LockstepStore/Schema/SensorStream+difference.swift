package import LockstepModel

extension SensorStream {
    /// Returns the first difference from the `stored` stream that would change the meaning of stored samples, as an
    /// error message, or nil if there is none.
    ///
    /// Columns may be added, and summaries, aggregates and `required` may change. Columns must not be removed, and
    /// their kind, words and unit must not change.
    package func difference(from stored: SensorStream) -> String? {
        for old in stored.columns {
            guard let new = columns.first(where: { $0.name == old.name }) else {
                return "the store has a column '\(old.name)', which the declaration does not have"
            }
            if new.kind != old.kind {
                return
                    "the column '\(old.name)' has the kind \(old.kind.text) in the store, but \(new.kind.text) in the "
                    + "declaration"
            }
            if new.unit != old.unit {
                return "the column '\(old.name)' has the unit '\(old.unit)' in the store, but '\(new.unit)' in the "
                    + "declaration"
            }
        }
        return nil
    }
}

extension SensorStream.Kind {
    /// The kind for error messages: `real`, `choice (open, closed)`.
    fileprivate var text: String { words.map { "\(name) (\($0.joined(separator: ", ")))" } ?? name }
}
