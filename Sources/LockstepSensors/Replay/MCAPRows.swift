import LockstepModel

/// The messages in JSON of an MCAP file as rows with fields. Consecutive messages of one time are one row, as in a CSV
/// export of several streams.
///
/// In an export of Lockstep, the rows have the samples of streams, with names as in a CSV export of several streams; what
/// it writes for Foxglove, markers, and streams that are not known here, are left out. In other files, the time of a row
/// is the log time, and its fields are the numbers and words of each object, such as `acceleration.x` for one in an inner
/// object; if several channels are in JSON, their topics precede the names, such as `imu.acceleration.x`.
struct MCAPRows: ~Copyable {
    /// The names of the fields.
    let names: [String]
    /// The names of the streams, if the file is an export.
    let streams: [String]
    /// The fields of the last message.
    let last: [ArraySlice<UInt8>]

    /// The name of the time of a row, which is no member of the messages.
    static let time = "t_ns"
    /// Why a file is refused whose messages are not in order of time.
    static let notInOrder =
        "the messages are not in order of time: 'mcap sort FILE -o NEW' writes a file in which they are"

    private var file: MCAPFile
    /// What precedes the names of the fields of each channel that is read.
    private let prefixes: [UInt16: String]
    private var ahead: Row?
    /// The error behind ``ahead``.
    private var failure: ReplayError?

    private struct Row {
        let message: Int
        let time: UInt64
        let device: String?
        var values: [String: JSONValue]
    }

    private struct Contents {
        var names: [UInt16: [String]] = [:]
        var channels: [UInt16: MCAPChannel] = [:]
        /// The latest time of each channel, in ns.
        var last: [UInt16: UInt64] = [:]
    }

    /// Does not throw: see ``LineReader``.
    private init(
        _ file: consuming MCAPFile, names: [String], streams: [String], prefixes: [UInt16: String],
        last: [ArraySlice<UInt8>]
    ) {
        self.file = file
        self.names = names
        self.streams = streams
        self.prefixes = prefixes
        self.last = last
    }

    /// Reads a whole file to find its fields.
    /// - Parameter streams: The streams that the file can contain. Others are left out, unless it has only others.
    static func open(_ file: String, streams catalog: StreamCatalog) throws(ReplayError) -> MCAPRows {
        let contents = try contents(MCAPFile(try LineReader(file: file)))
        let json = contents.channels.filter { $0.value.encoding == "json" }
        guard !json.isEmpty else {
            let others = Set(contents.channels.values.map(\.encoding)).sorted().joined(separator: ", ")
            throw ReplayError(
                file: file, line: nil,
                reason: others.isEmpty
                    ? "the file has no messages"
                    : "the file has no messages in JSON, only in \(others): convert it to MCAP with JSON, or to CSV")
        }
        let allExported = json.filter { $0.value.stream != nil }
        let known = allExported.filter { $0.value.stream.flatMap(catalog.stream(named:)) != nil }
        let exported = known.isEmpty ? allExported : known
        let read = exported.isEmpty ? json : exported
        var prefixes: [UInt16: String] = [:]
        var names = [Self.time] + (exported.isEmpty ? [] : ["device"])
        // A member with the name of a time would be read as the time of the row.
        var found = Set(names + RecordingLayout.timeNames.filter { $0.unit != nil }.map(\.name))
        for (id, channel) in read.sorted(by: { $0.key < $1.key }) {
            let topic = read.count > 1 ? channel.topic.drop { $0 == "/" } + "." : ""
            let prefix = channel.stream.map { RecordingLayout.table(of: $0) + "_" } ?? String(topic)
            prefixes[id] = prefix
            for name in contents.names[id] ?? [] where found.insert(prefix + name).inserted {
                names.append(prefix + name)
            }
        }
        let streams = exported.sorted { $0.key < $1.key }.compactMap(\.value.stream)
        let end = read.keys.compactMap { contents.last[$0] }.max() ?? 0
        let last = Row(message: 0, time: end, device: nil, values: [:])
        return MCAPRows(
            MCAPFile(try LineReader(file: file)), names: names, streams: streams, prefixes: prefixes,
            last: fields(of: last, names))
    }

    private static func contents(_ file: consuming MCAPFile) throws(ReplayError) -> Contents {
        var contents = Contents()
        var known: [UInt16: Set<String>] = [:]
        do throws(ReplayError) {
            while let message = try file.next() {
                contents.last[message.channel] = max(contents.last[message.channel] ?? 0, message.time)
                contents.channels[message.channel] = file.records.channels[message.channel]
                guard contents.channels[message.channel]?.encoding == "json" else { continue }
                for name in try values(of: message, file).keys.sorted()
                where known[message.channel, default: []].insert(name).inserted {
                    contents.names[message.channel, default: []].append(name)
                }
            }
        } catch {
            // A message that is damaged is refused when its row is read, after those before it.
            guard file.count > 1 else { throw error }
        }
        return contents
    }

    /// Returns the fields of the next row, and the number of its first message; nil after the last.
    mutating func next() throws(ReplayError) -> (fields: [ArraySlice<UInt8>], message: Int)? {
        if ahead == nil { ahead = try read() }
        guard var row = ahead else { return nil }
        ahead = nil
        do throws(ReplayError) {
            while let following = try read() {
                guard following.time == row.time, following.device == row.device,
                    following.values.keys.allSatisfy({ row.values[$0] == nil })
                else {
                    ahead = following
                    break
                }
                row.values.merge(following.values) { first, _ in first }
            }
        } catch {
            failure = error
        }
        return (Self.fields(of: row, names), row.message)
    }

    private mutating func read() throws(ReplayError) -> Row? {
        if let failure { throw failure }
        while let message = try file.next() {
            guard let prefix = prefixes[message.channel] else { continue }
            var values: [String: JSONValue] = [:]
            for (name, value) in try Self.values(of: message, file) { values[prefix + name] = value }
            return Row(message: file.count, time: message.time, device: device(of: message.channel), values: values)
        }
        return nil
    }

    /// Returns the device of a channel of an export; nil for other channels.
    private func device(of channel: UInt16) -> String? {
        let channel = file.records.channels[channel]
        return channel?.stream == nil ? nil : channel?.device
    }

    /// Returns the numbers, words and truth values of a message; none if it is no object.
    private static func values(
        of message: MCAPMessage, _ file: borrowing MCAPFile
    ) throws(ReplayError) -> [String: JSONValue] {
        let value: JSONValue
        do { value = try NDJSONFields.parse(message.data) } catch {
            throw ReplayError(file: file.file, line: nil, reason: "message \(file.count): \(error)")
        }
        guard case .object(let members) = value else { return [:] }
        var values: [String: JSONValue] = [:]
        add(members, "", to: &values)
        // The time of an export is also that of the message.
        if file.records.channels[message.channel]?.stream != nil {
            values = values.filter { !$0.key.hasPrefix("timestamp.") }
        }
        return values
    }

    private static func add(_ members: [String: JSONValue], _ prefix: String, to values: inout [String: JSONValue]) {
        for (name, value) in members {
            switch value {
            case .object(let inner): add(inner, prefix + name + ".", to: &values)
            case .array, .null: break
            default: values[prefix + name] = value
            }
        }
    }

    private static func fields(of row: Row, _ names: [String]) -> [ArraySlice<UInt8>] {
        names.enumerated().map { index, name in
            if index == 0 { return ArraySlice(row.time.description.utf8) }
            if index == 1, let device = row.device { return ArraySlice(device.utf8) }
            return NDJSONFields.field(row.values[name])
        }
    }
}

extension MCAPChannel {
    /// The stream of an export of Lockstep: what follows group and device in the topic; nil in other channels.
    fileprivate var stream: String? {
        guard schema.hasPrefix("lockstep."), let device, topic.hasPrefix("/\(device)/") else { return nil }
        return String(topic.dropFirst(device.count + 2))
    }

    /// The device of an export of Lockstep, as `GROUP/DEVICE`.
    fileprivate var device: String? {
        guard let group = metadata["group"], let device = metadata["device"] else { return nil }
        return "\(group)/\(device)"
    }
}
