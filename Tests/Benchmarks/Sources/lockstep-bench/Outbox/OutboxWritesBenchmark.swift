import Foundation
import LockstepAgent
import LockstepModel
import LockstepWire

/// Bytes that an outbox writes for one byte of batches, over an hour of normal delivery and over an hour of outage,
/// compared with a file to which the same batches are appended, synced as often.
struct OutboxWritesBenchmark {
    /// The folder of the recordings.
    let recordings: String
    /// The length of the hour as a fraction of an hour.
    let length: Double

    private var windowCount: Int { Int(3600 * length) }
    /// The number of batches that are sent and acknowledged in a second after an outage.
    private static let catchUpRate = 300

    /// A measurement for each kind of samples, with delivery and with an outage.
    var parts: [() throws -> [Comparison]] {
        get throws {
            let windows = try RecordedWindows(recordings: recordings)
            return [false, true].flatMap { isOutage in
                [("JSON", windows, BatchEncoding.json), ("CBOR", windows, .cbor), ("1 sample/s", windows.steps, .json)]
                    .map { name, windows, encoding in
                        { try measureAll("\(isOutage ? "outage" : "delivery"), \(name)", windows, encoding, isOutage) }
                    }
            }
        }
    }

    private func measureAll(
        _ name: String, _ windows: RecordedWindows, _ encoding: BatchEncoding, _ isOutage: Bool
    ) throws -> [Comparison] {
        try compare(
            "outbox-writes",
            ["written", "on disk"].map { Metric(name: "\(name), \($0)", unit: "bytes/byte", digits: 2) },
            // The figures do not depend on other load.
            rounds: 1,
            [
                Contender(name: "outbox") {
                    try measure(windows, encoding, isOutage: isOutage, keepsJournal: false)
                },
                Contender(name: "outbox with --journal") {
                    try measure(windows, encoding, isOutage: isOutage, keepsJournal: true)
                },
                Contender(name: "appended file") { try append(windows, encoding) },
            ])
    }

    private func measure(
        _ windows: RecordedWindows, _ encoding: BatchEncoding, isOutage: Bool, keepsJournal: Bool
    ) throws -> [Double] {
        try withFolder { folder in
            let before = try WrittenBytes()
            var batchBytes: Int64 = 0
            // The files are written until the outbox closes.
            do {
                let device = DeviceAddress(group: .standard, device: DeviceID(unchecked: "bench"))
                let outbox = try Outbox(
                    path: folder + "/outbox", owner: .agent(device), encoding: encoding, keepsJournal: keepsJournal)
                var run = OutboxRun(outbox: outbox, windows: windows)
                for _ in 0..<windowCount { try run.window(isConnected: !isOutage) }
                if isOutage { try run.catchUp(batchesPerWindow: Self.catchUpRate) }
                try run.stop()
                batchBytes = run.batchBytes
            }
            return try WrittenBytes().ratios(since: before, to: batchBytes)
        }
    }

    private func append(_ windows: RecordedWindows, _ encoding: BatchEncoding) throws -> [Double] {
        try withFolder { folder in
            let path = folder + "/batches"
            try Data().write(to: URL(filePath: path))
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            let before = try WrittenBytes()
            var batchBytes: Int64 = 0
            for second in 0..<windowCount {
                let payloads = windows.blocks(of: second).map { block in
                    Data(encoding.encode(Batch(position: BatchPosition(epoch: .random(), seq: 1), samples: block)))
                }
                let window = payloads.reduce(Data(), +)
                try file.write(contentsOf: window)
                guard fdatasync(file.fileDescriptor) == 0 else { throw Failure("cannot sync \(path)") }
                batchBytes += Int64(window.count)
            }
            try file.close()
            return try WrittenBytes().ratios(since: before, to: batchBytes)
        }
    }
}
