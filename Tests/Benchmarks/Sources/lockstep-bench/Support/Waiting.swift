import Foundation

/// Polls a condition until it holds. Choose an interval that is long enough not to disturb the measurement.
/// - Parameters:
///   - what: The condition in words, for the error message.
///   - milliseconds: The polling interval.
/// - Throws: ``Failure`` if the condition does not hold after `seconds`.
func waitUntil(
    _ what: @autoclosure () -> String, seconds: Double, every milliseconds: UInt32 = 10, _ isThere: () throws -> Bool
) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !isThere() {
        guard ContinuousClock.now < deadline else { throw Failure("timeout after \(Int(seconds)) s: \(what())") }
        usleep(1000 * milliseconds)
    }
}
