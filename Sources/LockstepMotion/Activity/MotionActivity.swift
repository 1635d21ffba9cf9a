public import LockstepModel

/// What the person with a device has been doing since a time.
public struct MotionActivity: Sendable, Hashable {
    /// An activity.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        // The cases are in the order of the stream's choices.
        /// None of the others, or not yet known.
        case unknown
        /// The device does not move, or its person stands, sits or lies.
        case stationary
        /// Walking, also on stairs.
        case walking
        /// Running or jogging.
        case running
        /// On a bicycle.
        case cycling
        /// In a car, bus, tram or train.
        case automotive
    }

    /// How sure the activity is.
    public enum Confidence: String, Sendable, Hashable, CaseIterable, Comparable {
        // The cases are in the order of the stream's choices.
        case low, medium, high

        /// Whether `left` is less sure than `right`.
        public static func < (left: Self, right: Self) -> Bool {
            allCases.firstIndex(of: left) ?? 0 < allCases.firstIndex(of: right) ?? 0
        }
    }

    /// The start of the activity.
    public var startDate: Timestamp
    /// The activity.
    public var kind: Kind
    /// How sure it is. It grows while the activity lasts.
    public var confidence: Confidence

    /// Creates an activity.
    public init(startDate: Timestamp, kind: Kind, confidence: Confidence) {
        self.startDate = startDate
        self.kind = kind
        self.confidence = confidence
    }

    /// Creates the activity from a row of the `activity` stream; nil if its values are no activity.
    public init?(row: [Double]) {
        guard row.count == 3, let start = Int64(exactly: row[0]),
            let kind = Int(exactly: row[1]), Kind.allCases.indices.contains(kind),
            let confidence = Int(exactly: row[2]), Confidence.allCases.indices.contains(confidence)
        else { return nil }
        self.init(
            startDate: Timestamp(microseconds: start), kind: Kind.allCases[kind],
            confidence: Confidence.allCases[confidence])
    }

    /// The values of a row of the `activity` stream.
    public var values: [Double] {
        [
            Double(startDate.microseconds), Double(Kind.allCases.firstIndex(of: kind) ?? 0),
            Double(Confidence.allCases.firstIndex(of: confidence) ?? 0),
        ]
    }
}
