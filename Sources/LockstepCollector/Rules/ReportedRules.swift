import LockstepModel
import LockstepRules
import LockstepWire

/// What a collector reports of its rules, each nil without any.
struct ReportedRules {
    /// The stream that each rule watches, by the rule's name. Rules without a stream are missing.
    private(set) var streams: [String: String]?
    /// The areas of places that rules name.
    private(set) var places: [String: CollectorHealth.Place]?

    /// The maximum number of corners of all areas, because the report is sent every 10 s. A circle counts as one.
    private static let mostCorners = 500

    init(_ rules: RuleSet = RuleSet()) {
        var streams: [String: String] = [:]
        var places: [String: CollectorHealth.Place] = [:]
        var corners = 0
        for rule in rules.rules {
            streams[rule.name] = rule.condition.stream?.name
            guard case .place(let place) = rule.condition, places[place.name] == nil else { continue }
            corners += place.area.points.count
            if corners <= Self.mostCorners { places[place.name] = place.area.reported }
        }
        self.streams = streams.isEmpty ? nil : streams
        self.places = places.isEmpty ? nil : places
    }
}

extension Area {
    fileprivate var reported: CollectorHealth.Place {
        let points = points.map { CollectorHealth.Position(latitude: $0.latitude, longitude: $0.longitude) }
        return if let radius, let center = points.first { .circle(center, radius: radius) } else { .polygon(points) }
    }
}
