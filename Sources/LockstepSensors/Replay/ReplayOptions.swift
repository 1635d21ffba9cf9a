/// How fast a recording is played.
public enum ReplaySpeed: Sendable, Hashable {
    /// So many times as fast as it was recorded; above 0.
    case times(Double)
    /// As fast as the receiver takes it.
    case maximum

    public static let realTime = ReplaySpeed.times(1)

    /// Reads `max`, or a number above 0.
    public init?(_ text: String) {
        if text == "max" {
            self = .maximum
        } else if let factor = Double(text), factor > 0, factor.isFinite {
            self = .times(factor)
        } else {
            return nil
        }
    }
}

/// What the timestamps of a source are that has a time of its own.
public enum Stamping: String, Sendable, Hashable, CaseIterable {
    /// The present of this machine: when a fix arrived; a recording, moved to the present with its spacing kept.
    case now
    /// The source's own time as it stands.
    case own
}
