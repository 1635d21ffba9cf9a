import LockstepClickHouse
import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

/// The table of `lockstep devices --size`.
struct SizeReport {
    let sizes: [SeriesSize]
    let holds: [Hold]

    /// Reads the sizes of an SQLite store.
    /// - Throws: ``CommandFailure`` for another kind of store.
    init(_ address: StoreAddress) throws {
        guard case .sqlite(let path) = address else {
            throw CommandFailure("--size is for an SQLite store: ClickHouse tells its sizes in system.parts")
        }
        let reader = try StoreReader(path: path)
        sizes = try reader.sizes()
        holds = try reader.holds()
    }

    func text(of group: GroupID?, for terminal: Terminal) -> String {
        var table = Table(["DEVICE", "STREAM", .right("SAMPLES"), .right("SIZE"), "OLDEST", "HELD"])
        let sizes = sizes.filter { (group ?? $0.device.group) == $0.device.group }
        for size in sizes {
            let held = holds.filter { $0.device == size.device && ($0.stream ?? size.stream) == size.stream }
            table.rows.append([
                .init(size.device.description, .bold), .init(size.stream), "\(size.samples)",
                .init(BackupProgress.size(size.bytes)), .init(Timestamp(microseconds: size.oldest).shown),
                .init(held.map(\.reason).joined(separator: ", ").printable),
            ])
        }
        let bytes = sizes.reduce(0) { $0 + $1.bytes }
        let samples = sizes.reduce(0) { $0 + $1.samples }
        return table.lines(for: terminal).joined(separator: "\n")
            + "\n\(counted(samples, "sample")), \(BackupProgress.size(bytes))\n"
    }

    func json(of group: GroupID?) -> String {
        let objects = sizes.filter { (group ?? $0.device.group) == $0.device.group }.map { size in
            var object = JSONObjectWriter()
            object.member("group", size.device.group.rawValue)
            object.member("device", size.device.device.rawValue)
            object.member("stream", size.stream)
            object.member("samples", size.samples)
            object.member("bytes", size.bytes)
            object.member("oldest", size.oldest)
            return String(decoding: object.finish(), as: UTF8.self)
        }
        return "[" + objects.joined(separator: ",\n ") + "]\n"
    }
}
