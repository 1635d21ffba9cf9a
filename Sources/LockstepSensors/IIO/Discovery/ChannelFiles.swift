/// The attributes that hold the value of each channel of a quantity, for polling.
struct ChannelFiles {
    /// Whether the values are in the kernel's unit already: `in_accel_x_input`.
    let isProcessed: Bool
    /// One file per channel.
    let files: [String]
    let isAny: Bool
    let isComplete: Bool

    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        func files(_ kind: String) -> [String] { quantity.channels.map { "in_\($0)_\(kind)" } }
        let raw = files("raw")
        let processed = files("input")
        let isRaw = raw.contains(where: folder.contains)
        isProcessed = !isRaw && processed.contains(where: folder.contains)
        self.files = isProcessed ? processed : raw
        isAny = isRaw || isProcessed
        isComplete = self.files.allSatisfy(folder.contains)
    }
}

/// The scan elements of a quantity in a buffer.
struct ScanElements {
    let isAny: Bool
    let isComplete: Bool
    /// The layout of the first channel. The others may differ, but not in their range.
    let type: ScanType?

    /// - Parameter folder: The folder of the buffer's scan elements.
    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        let elements = quantity.channels.map { "in_\($0)" }
        isAny = elements.contains { folder.contains($0 + "_en") }
        let types = elements.map { folder.text($0 + "_type").flatMap { ScanType($0) } }
        type = types[0]
        isComplete =
            types.allSatisfy { $0 != nil }
            && elements.allSatisfy { folder.contains($0 + "_en") && folder.contains($0 + "_index") }
    }
}
