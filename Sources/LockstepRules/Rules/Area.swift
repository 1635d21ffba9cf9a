import Glibc
public import LockstepMotion

/// An area on the earth.
public enum Area: Sendable, Hashable {
    /// A circle with its radius in m.
    case circle(Coordinate, radius: Double)
    /// A polygon of at least three corners, in order. Its edges are straight on a map of its surroundings.
    case polygon([Coordinate])

    /// Returns the distance from the border in m: negative inside, positive outside.
    public func signedDistance(to position: Coordinate) -> Double {
        switch self {
        case .circle(let centre, let radius): return centre.distance(to: position) - radius
        case .polygon(let corners):
            // A plane around the position: exact enough for areas of some 100 km.
            let points = zip(corners, unwrappedLongitudes(of: corners, near: position)).map { corner, longitude in
                SIMD2(
                    (longitude - position.longitude) * metresPerDegree * cos(position.latitude * .pi / 180),
                    (corner.latitude - position.latitude) * metresPerDegree)
            }
            return polygonDistance(points)
        }
    }
}

/// Returns the longitudes of corners without the jump at the date line, on the side of it that is nearer to a position.
private func unwrappedLongitudes(of corners: [Coordinate], near position: Coordinate) -> [Double] {
    var longitudes: [Double] = []
    for corner in corners {
        // Each edge takes the short way around the earth.
        let turns = longitudes.last.map { (($0 - corner.longitude) / 360).rounded() } ?? 0
        longitudes.append(corner.longitude + 360 * turns)
    }
    guard let west = longitudes.min(), let east = longitudes.max() else { return [] }
    let turns = ((position.longitude - (west + east) / 2) / 360).rounded()
    return longitudes.map { $0 + 360 * turns }
}

/// The length of a degree of latitude in m, on a sphere with the mean radius of the earth.
private let metresPerDegree = 6_371_008.8 * Double.pi / 180

/// Returns the signed distance of the origin from a polygon's border.
private func polygonDistance(_ points: [SIMD2<Double>]) -> Double {
    var isInside = false
    var nearest = Double.infinity
    for (index, end) in points.enumerated() {
        let start = points[(index + points.count - 1) % points.count]
        // A ray to the east crosses the edge.
        if (start.y > 0) != (end.y > 0) {
            let x = start.x + (0 - start.y) / (end.y - start.y) * (end.x - start.x)
            if x > 0 { isInside.toggle() }
        }
        let edge = end - start
        let length = (edge * edge).sum()
        let share = length > 0 ? min(1, max(0, -(start * edge).sum() / length)) : 0
        let foot = start + share * edge
        nearest = min(nearest, (foot * foot).sum().squareRoot())
    }
    return isInside ? -nearest : nearest
}
