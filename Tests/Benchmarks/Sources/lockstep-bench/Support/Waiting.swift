import Foundation

/// Looks every 10 ms whether something has come about: so a look costs nothing beside what is measured.
/// - Parameter what: what is to come about, in words, for the error where it did not within `seconds`.
func waitUntil(_ what: @autoclosure () -> String, seconds: Double, _ isThere: () -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !isThere() {
        guard ContinuousClock.now < deadline else { throw Failure("not within \(Int(seconds)) s: \(what())") }
        usleep(10_000)
    }
}
