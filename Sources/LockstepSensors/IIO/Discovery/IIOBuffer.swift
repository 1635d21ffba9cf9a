/// A buffer of a device, which delivers whole scans.
///
/// Since Linux 5.11 a device can have several buffers, each with a folder `bufferN` that holds both its controls and
/// its scan elements. The older folders `buffer` and `scan_elements` belong to the first buffer.
package struct IIOBuffer: Sendable, Hashable {
    /// The number of the buffer, from 0.
    package let index: Int
    /// The folder with `enable`, `length` and `watermark`.
    package let controls: AttributeFolder
    /// The folder of the scan elements, such as `in_accel_x_en`.
    package let elements: AttributeFolder
    /// Whether the device has other buffers.
    package private(set) var isOneOfSeveral = false

    /// Whether the buffer can be enabled.
    var isUsable: Bool { controls.contains("enable") }

    /// Returns the buffers of a device in the order of their numbers.
    static func all(of device: AttributeFolder) -> [IIOBuffer] {
        let numbered = device.numbered("buffer").map { number, name in
            let folder = AttributeFolder(device[name])
            return IIOBuffer(index: number, controls: folder, elements: folder)
        }
        let hasOldFolders = device.contains("scan_elements") || device.contains("buffer")
        let first = IIOBuffer(
            index: 0, controls: AttributeFolder(device["buffer"]), elements: AttributeFolder(device["scan_elements"]))
        let all = hasOldFolders ? [first] + numbered.filter { $0.index > 0 } : numbered
        return all.map { buffer in
            var buffer = buffer
            buffer.isOneOfSeveral = all.count > 1
            return buffer
        }
    }
}
