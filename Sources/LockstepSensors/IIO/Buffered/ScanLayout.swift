/// The positions of the values in a scan. The enabled elements follow each other in the order of their index. Each is
/// aligned to its own size, and the scan to its largest element.
package struct ScanLayout: Sendable, Hashable {
    /// One value of a scan.
    package struct Element: Sendable, Hashable {
        /// The name of the channel, such as `accel_x` or `timestamp`.
        package let name: String
        /// The kernel's index, which determines the order.
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
        /// The offset from the start of the scan, in bytes.
        package let offset: Int
        package let type: ScanType
    }

    /// The size of a scan in bytes; 0 if no element is enabled.
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

    /// The place of an element; nil if it is not enabled.
    package subscript(name: String) -> Place? { places[name] }

    private static func roundUp(_ number: Int, to multiple: Int) -> Int {
        (number + multiple - 1) / multiple * multiple
    }
}
