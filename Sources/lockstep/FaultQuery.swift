import LockstepCommandLine
import LockstepModel
import LockstepStore
import LockstepWire

/// The queries of what a collector has not stored as samples: `lockstep query rejected` and `lockstep query conflicts`.
struct FaultQuery {
    /// The names of the queries.
    static let names = ["rejected", "conflicts"]
    /// The maximum number of conflicts of each device.
    private static let maxConflicts = 100_000

    let selection: SelectionOptions
    let from: Timestamp?
    let to: Timestamp?
    let limit: Int?
    let format: RowFormat

    func run(_ name: String, _ reader: StoreReader) throws {
        let lines = try name == "rejected" ? rejected(reader) : conflicts(reader)
        Terminal.output.write(lines.map { $0 + "\n" }.joined())
    }

    private func rejected(_ reader: StoreReader) throws -> [String] {
        let messages = try reader.rejections(from: from, to: to).filter { isSelected(topic: $0.topic) }
        let shown = messages.prefix(limit ?? .max)
        switch format {
        case .text:
            var table = Table(["TIME", "TOPIC", "REASON", .right("SIZE")])
            for message in shown {
                table.rows.append([
                    .init(message.at.shown), .init(message.topic.printable, .bold),
                    .init(message.reason.printable), "\(message.size)",
                ])
            }
            return shown.isEmpty ? ["no rejected messages"] : table.lines(for: .output)
        case .csv:
            return ["t,time,topic,reason,size,head"]
                + shown.map { message in
                    [
                        "\(message.at.microseconds)", message.at.description, message.topic.csvField,
                        message.reason.csvField, "\(message.size)",
                        Self.text(of: message.head).csvField,
                    ].joined(separator: ",")
                }
        case .json:
            return shown.map { message in
                var object = JSONObjectWriter()
                object.member("t", message.at.microseconds)
                object.member("time", message.at.description)
                object.member("topic", message.topic)
                object.member("reason", message.reason)
                object.member("size", Int64(message.size))
                object.member("head", Self.text(of: message.head))
                return String(decoding: object.finish(), as: UTF8.self)
            }
        }
    }

    /// Returns whether a topic contains one of the selected devices, in the selected group.
    private func isSelected(topic: String) -> Bool {
        let levels = topic.split(separator: "/", omittingEmptySubsequences: false)
        let pairs = zip(levels, levels.dropFirst())
        guard !selection.device.isEmpty else {
            return selection.group.map { group in levels.contains { $0 == group.rawValue } } ?? true
        }
        return selection.device.contains { device in
            let group = device.group ?? selection.group
            return pairs.contains { $1 == device.device.rawValue && (group == nil || $0 == group?.rawValue ?? "") }
        }
    }

    /// Returns the first bytes of a payload as text if they are printable, otherwise in hexadecimal.
    private static func text(of head: [UInt8]) -> String {
        // The last character may have been cut.
        let text = String(decoding: head, as: UTF8.self)
        let isText = text.unicodeScalars.dropLast().allSatisfy {
            $0 != "\u{FFFD}" && ($0.value >= 0x20 || $0 == "\n" || $0 == "\t" || $0 == "\r")
        }
        guard !isText else { return text }
        return head.hexadecimal
    }

    private func conflicts(_ reader: StoreReader) throws -> [String] {
        var conflicts: [(device: DeviceAddress, conflict: DeviceHealth.Conflict)] = []
        for selected in try selection.groups(of: reader) {
            for device in try reader.devices().map(\.address)
            where device.group == selected.group ?? device.group
                && (selected.devices.isEmpty || selected.devices.contains(device.device))
            {
                conflicts += try reader.conflicts(of: device, from: from, to: to, limit: Self.maxConflicts)
                    .sorted { ($0.time, $0.receivedAt) < ($1.time, $1.receivedAt) }.map { (device, $0) }
            }
        }
        let shown = conflicts.prefix(limit ?? .max)
        switch format {
        case .text:
            var table = Table(["DEVICE", "TIME", "STREAM", "STORED", "RECEIVED LATER", "RECEIVED AT"])
            for (device, conflict) in shown {
                table.rows.append([
                    .init("\(device)", .bold), .init(conflict.time.shown(decimals: 6)), .init(conflict.stream),
                    .init(conflict.stored), .init(conflict.received), .init(conflict.receivedAt.shown),
                ])
            }
            return shown.isEmpty ? ["no conflicts"] : table.lines(for: .output)
        case .csv:
            return ["group,device,t,time,stream,stored,received,received_at"]
                + shown.map { device, conflict in
                    [
                        "\(device.group)", "\(device.device)", "\(conflict.time.microseconds)",
                        conflict.time.description, conflict.stream, conflict.stored.csvField,
                        conflict.received.csvField, "\(conflict.receivedAt.microseconds)",
                    ].joined(separator: ",")
                }
        case .json:
            return shown.map { device, conflict in
                var object = JSONObjectWriter()
                object.member("group", device.group.rawValue)
                object.member("device", device.device.rawValue)
                object.member("t", conflict.time.microseconds)
                object.member("time", conflict.time.description)
                object.member("stream", conflict.stream)
                object.member("stored", conflict.stored)
                object.member("received", conflict.received)
                object.member("received_at", conflict.receivedAt.microseconds)
                return String(decoding: object.finish(), as: UTF8.self)
            }
        }
    }
}
