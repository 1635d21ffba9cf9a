/// The playback speed of a recording.
public enum ReplaySpeed: Sendable, Hashable {
    /// A factor relative to the recorded speed, above 0.
    case times(Double)
    /// As fast as the consumer accepts the samples.
    case maximum

    /// The recorded speed.
    public static let realTime = ReplaySpeed.times(1)

    /// Parses `max` or a number above 0.
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

/// The timestamps of a source that has its own clock.
public enum Stamping: String, Sendable, Hashable, CaseIterable {
    /// This machine's time: the arrival of a fix, or a recording shifted to the present with its intervals unchanged.
    case now
    /// The source's own time, unchanged.
    case own
}
