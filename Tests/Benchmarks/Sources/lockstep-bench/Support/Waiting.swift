import Foundation

/// Looks every 10 ms whether something has come about: so a look costs nothing beside what is measured.
/// - Parameter what: what is waited for, where it did not come within `seconds`.
func wait(for what: @autoclosure () -> String, seconds: Double, until isThere: () -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !isThere() {
        guard ContinuousClock.now < deadline else { throw Failure("not within \(Int(seconds)) s: \(what())") }
        usleep(10_000)
    }
}
