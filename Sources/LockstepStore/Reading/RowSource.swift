/// What averages or an envelope were computed from.
public enum RowSource: Int, CaseIterable, Sendable {
    /// Samples.
    case samples
    /// Summaries of minutes.
    case summaries
    /// Samples, and summaries of minutes.
    case both

    /// The name in outputs and answers.
    public var name: String { "\(self)" }

    /// Creates the source of rows.
    /// - Parameters:
    ///   - samples: the number of samples that the rows stand for.
    ///   - summarised: the number of those that were read as summaries, see ``StoreReader/summarisedSamples``.
    public init(samples: Int64, summarised: Int64) {
        self = summarised == 0 ? .samples : summarised < samples ? .both : .summaries
    }
}
