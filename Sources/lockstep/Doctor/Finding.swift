/// The result of one check.
struct Finding: Equatable {
    /// The severity of a finding; the raw value is its text in JSON.
    enum Level: String, CaseIterable {
        case ok, warning, failure
        /// The check has no result: what was received does not show it.
        case unknown
    }

    var level: Level
    /// The checked part: `broker`, `collector default/main`, `device lab/arm-left`.
    var subject: String
    /// The result.
    var text: String
    /// The suggested action, if any.
    var advice: String?

    init(_ level: Level, _ subject: String, _ text: String, _ advice: String? = nil) {
        self.level = level
        self.subject = subject
        self.text = text
        self.advice = advice
    }
}
