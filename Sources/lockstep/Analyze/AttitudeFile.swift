import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepMotion
import LockstepSensors

/// Writes a copy of a recording (CSV) with the attitude added to each row.
enum AttitudeFile {
    private static let angles = ["roll", "pitch", "yaw"]
    /// The names of the added columns.
    private static let names: [String] = {
        let columns = SensorStream.deviceMotion.columns.map(\.name)
        return columns.prefix(4) + angles + columns.dropFirst(4)
    }()

    /// Copies the rows of `file` to `out`, and appends to each row the motion with the same time.
    /// - Parameters:
    ///   - file: a recording that was already parsed without an error.
    ///   - layout: the fields of `file`.
    /// - Throws: ``CommandFailure`` if `out` cannot be written.
    static func write(
        _ motions: [DeviceMotion], addedTo file: String, _ layout: RecordingLayout, to out: String
    ) throws {
        let text = Array(try Data(contentsOf: URL(fileURLWithPath: file)))
        // Accept CRLF line ends and a byte order mark, as the parser of recordings does.
        var lines = text.split(separator: UInt8(ascii: "\n"))[...].map { $0.last == 13 ? $0.dropLast() : $0 }[...]
        guard let header = lines.popFirst() else { return }
        let (fields, separator) = RecordingLayout.names(
            of: String(
                decoding: header.starts(with: [0xEF, 0xBB, 0xBF]) ? header.dropFirst(3) : header, as: UTF8.self))
        let mark = String(UnicodeScalar(separator))
        var output = Data()
        output.reserveCapacity(text.count * 3)
        func add(_ values: [String]) {
            output.append(contentsOf: values.joined(separator: mark).utf8)
            output.append(UInt8(ascii: "\n"))
        }
        add(fields.map { names.contains($0) ? "ref_\($0)" : $0 } + names)
        var next = motions[...]
        for line in lines where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            let row = String(decoding: line, as: UTF8.self)
            let cells = line.split(separator: separator, omittingEmptySubsequences: false)
            let time = try? layout.time(cells[layout.timeField])
            guard let motion = next.first, motion.timestamp.microseconds == time else {
                add([row] + names.map { _ in "" })
                continue
            }
            next = next.dropFirst()
            add([row] + values(of: motion))
        }
        do {
            try output.write(to: URL(fileURLWithPath: out), options: .atomic)
        } catch {
            throw CommandFailure("cannot write \(out): check that its folder exists and is writable")
        }
    }

    private static func values(of motion: DeviceMotion) -> [String] {
        let attitude = motion.attitude.quaternion
        let quaternion = [attitude.scalar, attitude.vector.x, attitude.vector.y, attitude.vector.z].map {
            resolved($0, decimals: 7)
        }
        let angles = [motion.attitude.roll, motion.attitude.pitch, motion.attitude.yaw].map {
            resolved($0, decimals: 6)
        }
        // The last column, the frame, is text. Unknown values are left empty.
        let rest = motion.values.dropFirst(4).dropLast()
        let accuracy = rest.last.flatMap { Int(exactly: $0) }
        // The type is for the type checker of Swift 6.2.
        let cells: [String] = (quaternion + angles + rest.dropLast()).map { $0.isFinite ? "\($0)" : "" }
        return cells + [accuracy.map(String.init) ?? "", motion.referenceFrame.rawValue]
    }
}
