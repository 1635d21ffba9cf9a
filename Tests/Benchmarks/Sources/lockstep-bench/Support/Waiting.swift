import Foundation

/// Looks now and then whether something has come about: so a look costs nothing beside what is measured.
/// - Parameters:
///   - what: what is to come about, in words, for the error where it did not within `seconds`.
///   - milliseconds: between two looks.
func waitUntil(
    _ what: @autoclosure () -> String, seconds: Double, every milliseconds: UInt32 = 10, _ isThere: () -> Bool
) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !isThere() {
        guard ContinuousClock.now < deadline else { throw Failure("not within \(Int(seconds)) s: \(what())") }
        usleep(1000 * milliseconds)
    }
}
