/// The attributes with which the three axes of a quantity are read one by one.
struct AxisFiles {
    /// Whether the values are in the kernel's unit already: `in_accel_x_input`.
    let isProcessed: Bool
    let files: [String]
    let isAny: Bool
    let isComplete: Bool

    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        func files(_ kind: String) -> [String] { (0..<3).map { "\(quantity.prefix(axis: $0))_\(kind)" } }
        let raw = files("raw")
        let processed = files("input")
        let isRaw = raw.contains(where: folder.contains)
        isProcessed = !isRaw && processed.contains(where: folder.contains)
        self.files = isProcessed ? processed : raw
        isAny = isRaw || isProcessed
        isComplete = self.files.allSatisfy(folder.contains)
    }
}

/// The scan elements with which the three axes of a quantity come through a buffer.
struct ScanFiles {
    let isAny: Bool
    let isComplete: Bool
    /// How the x axis is laid out; the others may differ, but not in their range.
    let type: ScanType?

    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        let elements = (0..<3).map { "scan_elements/\(quantity.prefix(axis: $0))" }
        isAny = elements.contains { folder.contains($0 + "_en") }
        let types = elements.map { folder.text($0 + "_type").flatMap { ScanType($0) } }
        type = types[0]
        isComplete =
            types.allSatisfy { $0 != nil }
            && elements.allSatisfy { folder.contains($0 + "_en") && folder.contains($0 + "_index") }
    }
}
