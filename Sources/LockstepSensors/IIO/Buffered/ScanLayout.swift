/// The positions of the values in a scan: the enabled elements in the order of their index, each aligned to its own size,
/// and the scan aligned to the largest.
package struct ScanLayout: Sendable, Hashable {
    /// One value of a scan.
    package struct Element: Sendable, Hashable {
        /// `accel_x`, `timestamp`.
        package let name: String
        /// Its position in the order.
        package let index: Int
        package let type: ScanType

        package init(name: String, index: Int, type: ScanType) {
            self.name = name
            self.index = index
            self.type = type
        }
    }

    /// The position and type of an element.
    package struct Place: Sendable, Hashable {
        /// Bytes from the start of the scan.
        package let offset: Int
        package let type: ScanType
    }

    /// The size of a scan in bytes; 0 if nothing is enabled.
    package let byteCount: Int
    private let places: [String: Place]

    package init(_ elements: [Element]) {
        var places: [String: Place] = [:]
        var end = 0
        var largest = 1
        for element in elements.sorted(by: { $0.index < $1.index }) {
            let size = element.type.byteCount
            let offset = Self.roundUp(end, to: size)
            places[element.name] = Place(offset: offset, type: element.type)
            end = offset + size
            largest = max(largest, size)
        }
        self.places = places
        byteCount = Self.roundUp(end, to: largest)
    }

    package subscript(name: String) -> Place? { places[name] }

    private static func roundUp(_ number: Int, to multiple: Int) -> Int {
        (number + multiple - 1) / multiple * multiple
    }
}
