/// The playback speed of a recording.
public enum ReplaySpeed: Sendable, Hashable {
    /// A factor relative to the recorded speed, above 0.
    case times(Double)
    /// As fast as the consumer accepts samples.
    case maximum

    /// The recorded speed.
    public static let realTime = ReplaySpeed.times(1)

    /// Parses `max` or a number above 0; nil if the text has another form.
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

/// The clock for the timestamps of a source that has its own clock.
public enum Stamping: String, Sendable, Hashable, CaseIterable {
    /// This machine's clock: a fix gets its arrival time, and a recording is shifted to the present with unchanged
    /// intervals.
    case now
    /// The source's own clock: its timestamps are unchanged.
    case own
}
