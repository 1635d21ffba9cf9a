import FoundationEssentials
import LockstepCommandLine
import LockstepModel
import LockstepMotion

/// A recording with the attitude added to each of its rows.
enum AttitudeFile {
    private static let angles = ["roll", "pitch", "yaw"]
    private static let names: [String] = {
        let columns = SensorStream.deviceMotion.columns.map(\.name)
        return columns.prefix(4) + angles + columns.dropFirst(4)
    }()

    /// Writes the rows of `file`, which has been read without an error, with the motion of their time.
    /// - Throws: ``CommandFailure`` where that can't be written.
    static func write(_ motions: [DeviceMotion], beside file: String, to out: String) throws {
        let text = try Data(contentsOf: URL(fileURLWithPath: file))
        var lines = text.split(separator: UInt8(ascii: "\n"))[...].map { $0.last == 13 ? $0.dropLast() : $0 }[...]
        guard let header = lines.popFirst() else { return }
        let fields = String(
            decoding: header.starts(with: [0xEF, 0xBB, 0xBF]) ? header.dropFirst(3) : header, as: UTF8.self
        )
        .split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        let timeField = fields.firstIndex(of: "t_us") ?? 0
        var output = Data()
        output.reserveCapacity(text.count * 3)
        func add(_ values: [String]) {
            output.append(contentsOf: values.joined(separator: ",").utf8)
            output.append(UInt8(ascii: "\n"))
        }
        add(fields.map { names.contains($0) ? "ref_\($0)" : $0 } + names)
        var next = motions[...]
        for line in lines where line.contains(where: { $0 > UInt8(ascii: " ") }) {
            let row = String(decoding: line, as: UTF8.self)
            let cells = row.split(separator: ",", omittingEmptySubsequences: false)
            let time = Int64(cells[timeField].filter { $0 != " " })
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
            throw CommandFailure("can't write \(out): does its folder exist, and may you write there?")
        }
    }

    private static func values(of motion: DeviceMotion) -> [String] {
        let turn = motion.attitude.quaternion
        let exact = [turn.scalar, turn.vector.x, turn.vector.y, turn.vector.z].map { resolved($0, decimals: 7) }
        let angles = [motion.attitude.roll, motion.attitude.pitch, motion.attitude.yaw].map {
            resolved($0, decimals: 6)
        }
        // The last column is a word, and empty is what is not known.
        let rest = motion.values.dropFirst(4).dropLast()
        let accuracy = rest.last.flatMap { Int(exactly: $0) }
        return (exact + angles + rest.dropLast()).map { $0.isFinite ? "\($0)" : "" }
            + [accuracy.map(String.init) ?? "", motion.referenceFrame.rawValue]
    }
}
