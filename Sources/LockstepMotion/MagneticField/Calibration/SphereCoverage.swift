/// The fraction of all directions in which readings were taken recently.
///
/// The sphere is divided into 24 cells of about equal size: a quarter of each face of a cube. A cell counts as
/// covered until a number of readings have been taken in other cells since its last visit.
struct SphereCoverage: Sendable {
    private static let cells = 24
    /// The number of readings after a visit for which a cell counts as covered.
    private static let memory = 400

    private var lastVisits = [Int?](repeating: nil, count: cells)
    private var count = 0

    /// Adds the direction of a reading, of any length.
    mutating func add(_ direction: SIMD3<Double>) {
        count += 1
        lastVisits[Self.cell(of: direction)] = count
    }

    /// The fraction of cells that count as covered, 0…1.
    var fraction: Double {
        Double(lastVisits.count { $0.map { count - $0 < Self.memory } ?? false }) / Double(Self.cells)
    }

    private static func cell(of direction: SIMD3<Double>) -> Int {
        var axis = 0
        for other in 1...2 where abs(direction[other]) > abs(direction[axis]) { axis = other }
        let sides = [axis, (axis + 1) % 3, (axis + 2) % 3].map { direction[$0] < 0 ? 1 : 0 }
        return axis * 8 + sides[0] * 4 + sides[1] * 2 + sides[2]
    }
}
