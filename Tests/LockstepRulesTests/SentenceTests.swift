import LockstepModel
import LockstepMotion
import Testing

@testable import LockstepRules

@Suite("Notifications without a text of their own are sentences")
struct SentenceTests {
    private static let place = Area.circle(Coordinate(latitude: 52.5, longitude: 13.4), radius: 100)

    @Test(
        arguments: [
            (
                .state([.terminated, .background], lasting: 300_000_000), nil,
                "has been background or terminated for 5 min"
            ),
            (.shake, 2.123_456, "was shaken with 2.1235 g"), (.fall, 3.5, "has fallen, with an impact of 3.5 g"),
            (.orientation([.faceUp], lasting: 1_500_000), nil, "has been held face up for 1.5 s"),
            (.orientation([.portraitUpsideDown], lasting: 0), nil, "is held portrait upside down"),
            (.activity([.walking]), nil, "is now walking"),
            (.place(PlaceCondition(name: "home", area: place, kind: .enter)), nil, "has entered home"),
            (.place(PlaceCondition(name: "home", area: place, kind: .leave)), nil, "has left home"),
            (
                .place(PlaceCondition(name: "home", area: place, kind: .dwell(7_200_000_000))), nil,
                "has been at home for 2 h"
            ),
            (.silence(stream: nil, lasting: 90_000_000), nil, "has sent nothing for 90 s"),
            (.silence(stream: .location, lasting: 86_400_000_000), nil, "has sent no location for 1 d"),
            (.health(.gaps(0)), 1, "1 batch is missing"), (.health(.gaps(0)), 3, "3 batches are missing"),
            (.health(.drops(0)), 12, "has dropped 12 batches"),
            (.health(.disk(0.1)), 9.5, "9.5 % of the store's disk is free"),
            (.health(.clock(30_000_000)), -31.25, "its clock is 31.25 s behind"),
        ] as [(Condition, Double?, String)])
    func sentence(condition: Condition, value: Double?, text: String) { #expect(condition.sentence(value) == text) }

    @Test("an event says its device, its rule and the sentence")
    func event() throws {
        var bench = try Bench("rules: {quiet: {when: {silence: any, for: 60s}}}")
        bench.pressure((0, 1))
        bench.tick(0)
        bench.tick(61)
        #expect(bench.events.map(\.text) == ["lab/left: quiet: has sent nothing for 1 min"])
    }

    @Test("an event says which of several choices has happened")
    func choices() throws {
        var bench = try Bench(
            """
            rules:
              drive: {when: {activity: [automotive, cycling]}}
              flat: {when: {orientation: [faceUp, faceDown]}}
              off: {when: {state: [background, terminated]}}
            """)
        bench.send(.activity, [(monday, [0, 2, 1]), (monday + 30, [20, 5, 1])])
        bench.send(.orientation, [(monday + 40, [0]), (monday + 41, [5])])
        bench.become(.terminated, 50)
        #expect(
            bench.events.map(\.text) == [
                "lab/left: drive: is now automotive", "lab/left: flat: is held face down",
                "lab/left: off: is terminated",
            ])
    }
}
