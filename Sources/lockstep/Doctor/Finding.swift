/// One thing that was looked at, and what to do about it.
struct Finding: Equatable {
    enum Level: String, CaseIterable {
        case ok, warning, failure
    }

    var level: Level
    /// What it is about: `broker`, `collector default/main`, `device lab/arm-left`.
    var subject: String
    /// What was found.
    var text: String
    /// What to do about it; nil where there is nothing to do.
    var advice: String?

    init(_ level: Level, _ subject: String, _ text: String, _ advice: String? = nil) {
        self.level = level
        self.subject = subject
        self.text = text
        self.advice = advice
    }
}
