import LockstepMotion
import LockstepRules

extension RuleFileReader {
    mutating func readPlaces(_ node: YAMLNode) throws {
        var fields = try Fields(node, "'places'", file: file)
        for name in fields.keys {
            try check(name, fields)
            guard let node = fields.node(name) else { continue }
            places[name] = try area(node, name)
        }
    }

    private func area(_ node: YAMLNode, _ name: String) throws -> Area {
        var fields = try Fields(node, "place '\(name)'", file: file)
        let area: Area
        if let centre = fields.node("center") {
            guard let coordinate = coordinate(centre) else {
                throw fields.failure("center", "expects [latitude, longitude] in degrees")
            }
            guard let radius = try fields.value("radius", { try metres($0, in: 1...1_000_000) }) else {
                throw fields.failure("has no 'radius': add it in metres, such as 'radius: 100'")
            }
            area = .circle(coordinate, radius: radius)
        } else if let polygon = fields.node("polygon") {
            guard case .sequence(let items) = polygon.content, items.count >= 3 else {
                throw fields.failure("polygon", "expects a list of at least three corners [latitude, longitude]")
            }
            area = .polygon(
                try items.map { item in
                    guard let corner = coordinate(item) else {
                        throw fields.failure("polygon", "line \(item.line) is not [latitude, longitude] in degrees")
                    }
                    return corner
                })
        } else {
            throw fields.failure("has no area: write 'center' with 'radius', or 'polygon'")
        }
        try fields.finish(["center", "radius", "polygon"])
        return area
    }

    private func coordinate(_ node: YAMLNode) -> Coordinate? {
        guard case .sequence(let items) = node.content, items.count == 2,
            let latitude = items[0].scalar.flatMap(Double.init), let longitude = items[1].scalar.flatMap(Double.init)
        else { return nil }
        let coordinate = Coordinate(latitude: latitude, longitude: longitude)
        return coordinate.isValid ? coordinate : nil
    }
}
