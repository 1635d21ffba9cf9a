/// The attributes that hold the value of each channel of a quantity, for polling.
struct ChannelFiles {
    /// Whether the values are in the kernel's unit already: `in_accel_x_input`.
    let isProcessed: Bool
    /// One file name per channel.
    let files: [String]
    /// Whether at least one channel has a file.
    let hasAnyChannel: Bool
    /// Whether every channel has a file.
    let isComplete: Bool

    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        func files(_ kind: String) -> [String] { quantity.channels.map { "in_\($0)_\(kind)" } }
        let raw = files("raw")
        let processed = files("input")
        let isRaw = raw.contains(where: folder.contains)
        isProcessed = !isRaw && processed.contains(where: folder.contains)
        self.files = isProcessed ? processed : raw
        hasAnyChannel = isRaw || isProcessed
        isComplete = self.files.allSatisfy(folder.contains)
    }
}

/// The scan elements of a quantity in a buffer.
struct ScanElements {
    /// Whether at least one channel is in the buffer.
    let hasAnyChannel: Bool
    /// Whether every channel is in the buffer.
    let isComplete: Bool
    /// The type of the first channel; nil if it is unknown. The other channels have the same range.
    let type: ScanType?

    /// - Parameter folder: The folder of the buffer's scan elements.
    init(_ folder: AttributeFolder, _ quantity: IIOQuantity) {
        let elements = quantity.channels.map { "in_\($0)" }
        hasAnyChannel = elements.contains { folder.contains($0 + "_en") }
        let types = elements.map { folder.text($0 + "_type").flatMap { ScanType($0) } }
        type = types[0]
        isComplete =
            types.allSatisfy { $0 != nil }
            && elements.allSatisfy { folder.contains($0 + "_en") && folder.contains($0 + "_index") }
    }
}
