import LockstepModel
import LockstepStore

/// A row of the stream `location` that has a position.
struct TrackFix: Equatable {
    var device: DeviceAddress
    var time: Timestamp
    var latitude: Double
    var longitude: Double
    /// The altitude above mean sea level in m, or nil if it is unknown.
    var altitude: Double?
    /// The values of ``measures``; NaN if unknown.
    var measures: [Double]
    /// The dimensions of the fix, or nil if they are unknown.
    var dimensions: Int?

    /// The columns of measured values beside the position.
    static let measures = ["hacc", "vacc", "speed", "course"]

    /// Creates a fix, or returns nil if the row has no valid position.
    init?(_ row: SampleRow) {
        let (latitude, longitude) = (row.values[Columns.latitude], row.values[Columns.longitude])
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        device = row.device
        time = row.time
        self.latitude = latitude
        self.longitude = longitude
        altitude = row.values[Columns.altitude].isFinite ? row.values[Columns.altitude] : nil
        measures = Columns.measures.map { row.values[$0] }
        dimensions = Int(exactly: row.values[Columns.fix])
    }
}

/// The indices of columns of the stream `location`.
private enum Columns {
    static let latitude = index("lat")
    static let longitude = index("lon")
    static let altitude = index("alt")
    static let measures = TrackFix.measures.map(index)
    static let fix = index("fix")

    private static func index(_ name: String) -> Int {
        guard let index = SensorStream.location.columns.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("the stream location has no column \(name)")
        }
        return index
    }
}
