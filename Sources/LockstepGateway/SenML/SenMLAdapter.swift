public import LockstepModel

/// Translates SenML packs in JSON and CBOR (RFC 8428), which arrive over MQTT or HTTP.
public struct SenMLAdapter: GatewayAdapter {
    /// The name of the format.
    public let name = "senml"
    /// The HTTP path.
    public let path: String? = "/senml"

    private let topic: String
    private let targets: [String: SenMLTarget]
    private let catalog: StreamCatalog

    /// Creates an adapter.
    /// - Parameters:
    ///   - topic: the topic; the last level of a topic below it names the device.
    ///   - targets: the columns of measurements, by the end of their names or by their units, in addition to
    ///     ``SenMLTarget/standard``.
    ///   - catalog: the streams, which give the units of their columns.
    public init(
        topic: String = "senml", targets: [String: SenMLTarget] = [:], catalog: StreamCatalog = .builtIn
    ) {
        self.topic = topic
        self.targets = SenMLTarget.standard.merging(targets) { $1 }
        self.catalog = catalog
    }

    /// The topic of all devices, and topics that name the device.
    public var topicFilters: [String] { [topic, topic + "/+"] }

    /// Translates a message: `[` begins JSON, anything else is CBOR.
    public func translate(_ message: ForeignMessage) throws(Refusal) -> Translation {
        guard let first = message.payload.first else { return Translation() }
        // A CBOR array begins with 0x80 to 0x9f.
        let content =
            (0x80...0x9f).contains(first)
            ? try SenMLCBOR.parse(message.payload) : try ForeignJSON.parse(message.payload)
        let pack = try SenMLPack(content, at: message.receivedAt)
        let named = deviceName(of: message)
        var reports: [ForeignReport] = []
        var indexes: [ForeignName: Int] = [:]
        var latest: [ReadingKey: Int] = [:]
        var placed: [UnitKey: String] = [:]
        for record in pack.records {
            let (device, target, isByUnit) = place(record)
            let sender = ForeignName(name, senderNames(named, device, user: message.request?.user))
            let index = indexes[sender] ?? reports.count
            if index == reports.count {
                indexes[sender] = index
                reports.append(ForeignReport(sender: sender))
                if !message.isRetained { reports[index].presence = ForeignPresence(.foreground, reason: "message") }
            }
            do throws(Refusal) {
                if isByUnit, let target {
                    let first = placed[UnitKey(report: index, target: target)] ?? record.name
                    placed[UnitKey(report: index, target: target)] = first
                    guard first == record.name else {
                        throw Refusal(
                            .malformed,
                            "'\(record.name)' has the unit of '\(first)', which alone gets its column: name columns for both in "
                                + "the section 'senml'")
                    }
                }
                reports[index].hasGatewayTime = reports[index].hasGatewayTime || record.isRelative
                try add(record, target, to: &reports[index], index, &latest)
            } catch {
                // A series has one reason.
                if reports[index].omissions.last != error.description {
                    reports[index].omissions.append(error.description)
                }
            }
        }
        if !pack.omissions.isEmpty { reports[0].omissions = pack.omissions + reports[0].omissions }
        for index in reports.indices {
            complete(&reports[index])
            reports[index].writtenAt = reports[index].readings.map(\.time).max().map { Timestamp(microseconds: $0) }
        }
        let omissions = reports.flatMap(\.omissions)
        if reports.allSatisfy(\.readings.isEmpty), let first = omissions.first { throw Refusal(.malformed, first) }
        return Translation(reports)
    }

    private func deviceName(of message: ForeignMessage) -> String? {
        if case .topic(let text) = message.origin, text.hasPrefix(topic + "/") {
            return String(text.dropFirst(topic.count + 1))
        }
        return message.request?.query["d"]
    }

    /// By HTTP, the authenticated user comes first.
    private func senderNames(_ named: String?, _ device: String, user: String?) -> [String] {
        guard let user else { return [named ?? device] }
        return [user, named ?? device].filter { !$0.isEmpty }
    }

    /// Returns the device and the column of a record: by the end of its name, else by its unit.
    private func place(_ record: SenMLPack.Record) -> (device: String, target: SenMLTarget?, isByUnit: Bool) {
        let (device, measurement) = Self.split(record.name)
        if let target = targets[measurement] ?? exported(measurement) { return (device, target, false) }
        let target = record.unit.flatMap { targets[$0] ?? SenMLTarget.byUnit[$0] }
        // A device with one sensor may give it no name of its own: urn:dev:ow:10e2073a01080063 (RFC 9039).
        let isDevice = device.isEmpty || record.name.hasPrefix("urn:dev:") && device.count { $0 == ":" } < 3
        return (isDevice ? record.name : device, target, true)
    }

    /// Splits a name after its last `:` or `/`, without this character: `urn:dev:mac:0024befffe804ff1:pressure`.
    private static func split(_ name: String) -> (device: String, measurement: String) {
        guard let end = name.lastIndex(where: { $0 == ":" || $0 == "/" }) else { return ("", name) }
        return (String(name[..<end]), String(name[name.index(after: end)...]))
    }

    /// A column for which a unit decides. Only one name of a report gets it.
    private struct UnitKey: Hashable {
        let report: Int
        let target: SenMLTarget
    }

    /// The readings of which a record may become another value.
    private struct ReadingKey: Hashable {
        let report: Int
        let stream: String
        let time: Int64
    }

    /// - Parameters:
    ///   - number: the number of the report.
    ///   - latest: the index of the last reading of each stream and time.
    private func add(
        _ record: SenMLPack.Record, _ target: SenMLTarget?, to report: inout ForeignReport, _ number: Int,
        _ latest: inout [ReadingKey: Int]
    ) throws(Refusal) {
        guard let target, let stream = catalog.stream(ofChannel: target.stream),
            let column = stream.columns.first(where: { $0.name == target.column })
        else {
            throw Refusal(
                .malformed,
                "'\(record.name)' with the unit '\(record.unit ?? "")' has no column: name one in the section 'senml', by the "
                    + "end of the name or by the unit")
        }
        let value: Reading.Value
        switch record.value {
        case .word: value = record.value
        case .number(let number):
            guard let converted = SenMLUnit.convert(number, from: record.unit, to: column.unit) else {
                throw Refusal(
                    .malformed,
                    "'\(record.name)' has the unit '\(record.unit ?? "")', but \(stream) needs '\(column.unit)'")
            }
            value = .number(converted)
        }
        let key = ReadingKey(report: number, stream: target.stream, time: record.time)
        if let index = latest[key], !report.readings[index].values.contains(where: { $0.column == target.column }) {
            report.readings[index].values.append((target.column, value))
        } else {
            latest[key] = report.readings.count
            report.readings.append(Reading(target.stream, at: record.time, [(target.column, value)]))
        }
    }

    /// Returns the target of a measurement that is named `TABLE.COLUMN`, as an export names it.
    private func exported(_ measurement: String) -> SenMLTarget? {
        guard let target = SenMLTarget(measurement), let stream = catalog.stream(named: target.stream) else {
            return nil
        }
        return SenMLTarget(stream.name, target.column)
    }

    /// Adds the state of the battery, which SenML does not have, and removes positions out of range.
    private func complete(_ report: inout ForeignReport) {
        for index in report.readings.indices where report.readings[index].stream == "battery" {
            if report.readings[index].word("state") == nil {
                report.readings[index].set("state", word: "unknown")
            }
        }
        report.readings.removeAll { reading in
            let isOutside =
                reading.stream == "location"
                && (abs(reading.number("lat") ?? 0) > 90 || abs(reading.number("lon") ?? 0) > 180)
            if isOutside { report.omissions.append("a position is out of range") }
            return isOutside
        }
    }
}
