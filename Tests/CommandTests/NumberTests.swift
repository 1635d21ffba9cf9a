import Testing

@testable import lockstep

@Suite("Numbers for people")
struct NumberTests {
    @Test(
        "a number has no noise of its representation",
        arguments: [
            (36.94499999999999, "36.945"), (0.1 + 0.2, "0.3"), (Double(Float(1013.21)), "1013.21"), (0.5, "0.5"),
            (-1, "-1.0"),
            (Double(Float(0.1)), "0.1"), (47.1234567, "47.1234567"), (1e12 + 0.25, "1000000000000.25"),
        ])
    func numbers(_ value: Double, _ text: String) { #expect(number(value) == text) }
}
