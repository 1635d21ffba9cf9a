public import LockstepAgent
public import LockstepModel
import LockstepSQLite
public import LockstepWire

/// The outbox of a gateway: batches of many devices, and in the same transactions what is known of their senders.
///
/// A message that is acknowledged to its sender changes both or nothing. Use it from one thread only.
public final class GatewayOutbox {
    /// The batches.
    public let batches: Outbox
    /// The senders, by the index of their device.
    public private(set) var senders = OutboxSenders()

    /// Opens the outbox, or creates it.
    /// - Parameters:
    ///   - path: the path of the file. Its folder must exist.
    ///   - limits: the limits above which the oldest batches are dropped.
    ///   - encoding: the encoding of new batches.
    ///   - streams: the streams that batches can belong to.
    /// - Throws: `OutboxError` if the file cannot be opened or another gateway uses it.
    public init(
        path: String, limits: Outbox.Limits = Outbox.Limits(age: .max), encoding: BatchEncoding = .json,
        streams: StreamCatalog = .builtIn
    ) throws {
        batches = try Outbox(
            path: path, owner: .gateway, limits: limits, encoding: encoding, streams: streams, tables: Self.tables)
        let saved = try batches.writeTables(Self.senders)
        for index in batches.devices.indices {
            senders.append(saved[batches.devices[index].address] ?? OutboxSender(name: "", isSaved: true))
        }
    }

    /// The devices, in the order in which they were first seen. An index is valid until the program ends.
    public var devices: OutboxDevices { batches.devices }

    /// Returns the index of the device with this address. A new device is added; it is saved with its first batch or
    /// presence.
    public func index(of address: DeviceAddress, sender: ForeignName) -> Int {
        let index = batches.index(of: address)
        if index == senders.count { senders.append(OutboxSender(name: sender.description)) }
        return index
    }

    /// Writes new batches and changed presences, and removes acknowledged batches, in one durable transaction. On a full disk,
    /// acknowledged batches are removed first.
    /// - Parameters:
    ///   - additions: the samples of the new batches.
    ///   - presences: the changed presences, by the index of the device.
    ///   - removed: the acknowledged batches, by the index of the device.
    ///   - boot: the current time in µs of the boot clock.
    /// - Throws: `OutboxError`. Nothing was accepted in this case.
    public func accept(
        _ additions: [Outbox.Addition], presences: [Int: OutboxPresence] = [:],
        removing removed: [Int: [Epoch: SequenceSet]] = [:], at boot: Int64
    ) throws -> Outbox.Accepted {
        var changed: [Int: OutboxSender] = [:]
        for addition in additions where !senders[addition.device].isSaved {
            changed[addition.device] = senders[addition.device]
        }
        for (device, presence) in presences {
            changed[device] = senders[device]
            changed[device]?.presence = presence
        }
        let accepted = try batches.accept(additions, removing: removed, at: boot) { sql, id in
            for (device, sender) in changed { try Self.write(sender, of: try id(device), with: sql) }
        }
        for (device, sender) in changed {
            senders[device] = OutboxSender(name: sender.name, presence: sender.presence, isSaved: true)
        }
        return accepted
    }

    /// Records topic filters to which the gateway subscribes. The broker keeps them with the session, whose owner is this
    /// outbox.
    /// - Returns: the filters of earlier settings, from which the gateway has to unsubscribe.
    /// - Throws: `OutboxError`.
    public func replaceFilters(with filters: [String]) throws -> [String] {
        // None is ever removed, because it is not known whether the broker has received the end of a subscription.
        let all = try batches.writeTables { sql in
            for filter in filters { try sql.run("INSERT OR IGNORE INTO filters (filter) VALUES (?)", .text(filter)) }
            var all: [String] = []
            try sql.each("SELECT filter FROM filters ORDER BY filter") { all.append($0.text(at: 0) ?? "") }
            return all
        }
        return all.filter { !filters.contains($0) }
    }

    private static let tables = """
        CREATE TABLE senders (
            device INTEGER PRIMARY KEY REFERENCES devices,
            name TEXT NOT NULL, -- foreign name of the first sender
            phase TEXT, -- of the last known presence; NULL if none is known
            reason TEXT,
            at INTEGER, -- time of the phase in µs since 1970
            format TEXT, -- of the sender
            heard_at INTEGER, -- time of the last message in µs since 1970, up to a minute old
            published INTEGER -- 1: acknowledged by the broker
        );
        CREATE TABLE filters ( -- topic filters that were ever used
            filter TEXT PRIMARY KEY
        ) WITHOUT ROWID;
        """

    private static func write(_ sender: OutboxSender, of device: Int64, with sql: OutboxSQL) throws {
        let presence = sender.presence
        try sql.run(
            "INSERT OR REPLACE INTO senders VALUES (?, ?, ?, ?, ?, ?, ?, ?)", .integer(device), .text(sender.name),
            .text(presence?.phase.rawValue), .text(presence?.reason), .integer(presence?.at.microseconds),
            .text(presence?.format), .integer(presence?.heardAt.microseconds),
            .integer(presence.map { $0.isPublished ? 1 : 0 }))
    }

    private static func senders(_ sql: OutboxSQL) throws -> [DeviceAddress: OutboxSender] {
        var result: [DeviceAddress: OutboxSender] = [:]
        try sql.each(
            """
            SELECT d.group_name, d.device, s.name, s.phase, s.reason, s.at, s.format, s.heard_at, s.published
            FROM senders s JOIN devices d ON d.id = s.device
            """
        ) { row in
            let address = DeviceAddress(
                group: try GroupID(validating: row.text(at: 0) ?? ""),
                device: try DeviceID(validating: row.text(at: 1) ?? ""))
            let presence = row.text(at: 3).flatMap(Phase.init).map { phase in
                OutboxPresence(
                    phase: phase, reason: row.text(at: 4) ?? "", at: Timestamp(microseconds: row.int64(at: 5)),
                    format: row.text(at: 6) ?? "", heardAt: Timestamp(microseconds: row.int64(at: 7)),
                    isPublished: row.int64(at: 8) == 1)
            }
            result[address] = OutboxSender(name: row.text(at: 2) ?? "", presence: presence, isSaved: true)
        }
        return result
    }
}

/// The sender of a device.
public struct OutboxSender: Sendable {
    /// The foreign name of the first sender of the device.
    public let name: String
    /// The last known presence, or nil if none is known.
    public internal(set) var presence: OutboxPresence?
    /// Whether the name is in the file.
    var isSaved = false
}

/// The senders of all devices.
public struct OutboxSenders: Sendable {
    private var senders: [OutboxSender] = []
    /// The number of devices of each user, which is the first name of their first sender.
    private var counts: [Substring: Int] = [:]

    /// The number of senders.
    public var count: Int { senders.count }

    /// The sender of the device with an index.
    public internal(set) subscript(index: Int) -> OutboxSender {
        get { senders[index] }
        set { senders[index] = newValue }
    }

    mutating func append(_ sender: OutboxSender) {
        senders.append(sender)
        // The first name after the format.
        let names = sender.name.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        counts[names.count > 1 ? names[1] : "", default: 0] += 1
    }

    /// Returns the number of devices whose first sender has this user in its name, in any format.
    func count(ofUser user: String) -> Int { counts[user.prefix { $0 != "/" }] ?? 0 }

    /// Returns the senders of a format that were neither lost nor terminated when they were last heard.
    func present(of format: String) -> [ForeignName] {
        senders.compactMap { sender in
            guard let presence = sender.presence, presence.format == format,
                presence.phase != .lost, presence.phase != .terminated
            else { return nil }
            let parts = sender.name.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            return parts.first == format ? ForeignName(format, Array(parts.dropFirst())) : nil
        }
    }
}
