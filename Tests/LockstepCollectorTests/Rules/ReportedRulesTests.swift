import LockstepCommandLine
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepCollector

@Suite("What a collector reports of its rules")
struct ReportedRulesTests {
    @Test("streams and the areas that rules name are reported")
    func reported() throws {
        let yaml = """
            places:
              home: {center: [48.1, 11.5], radius: 80}
              yard: {polygon: [[1, 1], [1, 2], [2, 2]]}
              unused: {center: [0, 0], radius: 1}
            rules:
              in: {when: {enter: home}}
              out: {when: {leave: home}}
              stay: {when: {dwell: yard, for: 5m}}
              down: {when: {health: drops, above: 0}}
            """
        let rules = ReportedRules(try parseRules(yaml, file: "r.yaml"))
        #expect(rules.streams == ["in": "location", "out": "location", "stay": "location"])
        let corners: [CollectorHealth.Position] = [
            .init(latitude: 1, longitude: 1), .init(latitude: 1, longitude: 2), .init(latitude: 2, longitude: 2),
        ]
        #expect(
            rules.places == [
                "home": .circle(.init(latitude: 48.1, longitude: 11.5), radius: 80), "yard": .polygon(corners),
            ])
        let none = ReportedRules()
        #expect(none.streams == nil && none.places == nil)
    }

    @Test("areas with too many corners for a report are left out")
    func many() throws {
        let corners = (0..<600).map { "[\(Double($0) / 100), \($0 % 7)]" }.joined(separator: ", ")
        let yaml = "places: {coast: {polygon: [\(corners)]}}\nrules: {in: {when: {enter: coast}}}"
        let rules = ReportedRules(try parseRules(yaml, file: "r.yaml"))
        #expect(rules.places == nil && rules.streams == ["in": "location"])
    }
}
