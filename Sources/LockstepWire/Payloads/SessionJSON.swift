public import FoundationEssentials
public import LockstepModel

/// The JSON encoding of a recorded session and of requests about it.
///
/// Group and id are part of the topic.
public enum SessionJSON {
    /// The maximum length of names, labels and texts, in bytes.
    public static let maxTextBytes = 1000
    /// The maximum number of labels, and of devices.
    package static let maxLabels = 100
    static let maxDevices = 1000
    /// The number of markers in a state, the newest ones.
    static let maxMarkers = 100

    // MARK: States

    /// Encodes the state of a session.
    public static func encode(_ session: RecordingSession) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 1024)
        write(session, into: &object, markers: session.markers.suffix(maxMarkers))
        return object.finish()
    }

    /// Encodes a session with its group and id, for a file or a list.
    /// - Parameters:
    ///   - markers: the markers to include; nil for all.
    ///   - streams: what is stored of the session, or nil to leave it out.
    public static func encodeWithKey(
        _ session: RecordingSession, markers: [RecordingSession.Marker]? = nil,
        streams: [RecordingSession.Series]? = nil
    ) -> [UInt8] {
        var object = JSONObjectWriter(reservingCapacity: 1024)
        object.member("group", session.key.group.rawValue)
        object.member("id", session.key.id.rawValue)
        write(session, into: &object, markers: (markers ?? session.markers)[...])
        if let streams {
            object.member("streams", streams) { writer, series in
                writer.object { object in
                    object.member("device", series.device.rawValue)
                    object.member("stream", series.stream)
                    object.member("samples", Int64(series.samples))
                    object.member("gaps", series.gaps) { writer, gap in
                        writer.object { object in
                            object.member("from", gap.from.microseconds)
                            object.member("to", gap.to.microseconds)
                            object.member("count", gap.count)
                        }
                    }
                }
            }
        }
        return object.finish()
    }

    private static func write(
        _ session: RecordingSession, into object: inout JSONObjectWriter,
        markers: ArraySlice<RecordingSession.Marker>
    ) {
        object.member("name", session.name)
        object.member("state", session.state.rawValue)
        object.member("created", session.created.microseconds)
        object.member("start", ifPresent: session.start?.microseconds)
        object.member("end", ifPresent: session.end?.microseconds)
        write(options: session, into: &object)
        object.member("devices", session.devices.sorted { $0.key < $1.key }) { writer, entry in
            let (id, device) = entry
            writer.object { object in
                object.member("device", id.rawValue)
                object.member("joined", device.joined.microseconds)
                object.member("problem", ifPresent: device.problem)
                if !device.rates.isEmpty { object.member("rates", rates: device.rates) }
                object.member("clock_bound_us", ifPresent: device.clockBound)
                object.member("has_samples", device.hasSamples)
                object.member("on_its_way", device.onItsWay)
                object.member("missing", device.missing)
                if let calibration = device.calibration { object.member("calibration", json: calibration) }
            }
        }
        object.member("marker_count", Int64(session.markers.count))
        object.member("markers", markers) { writer, marker in
            writer.object { write(marker, into: &$0, clock: marker.clock) }
        }
    }

    /// Writes what a request to start has, too.
    private static func write(options session: RecordingSession, into object: inout JSONObjectWriter) {
        object.member("rates", rates: session.rates)
        object.member("labels", session.labels)
        object.member("note", ifPresent: session.note)
        object.member("clock_bound_us", ifPresent: session.clockBound)
        if let length = session.length { object.member("for_s", Double(length) / 1e6) }
        object.member("within_s", Double(session.patience) / 1e6)
    }

    private static func write(
        _ marker: RecordingSession.Marker, into object: inout JSONObjectWriter, clock: RecordingSession.Marker.Clock?
    ) {
        object.member("id", marker.id)
        object.member("t", marker.time.microseconds)
        object.member("clock", ifPresent: clock?.rawValue)
        object.member("text", marker.text)
        object.member("device", ifPresent: marker.device?.rawValue)
        if let value = marker.value { object.member("value", value) }
        if let duration = marker.duration { object.member("duration_s", Double(duration) / 1e6) }
    }

    /// Decodes the state of a session.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(
        _ payload: Data, of key: RecordingSession.Key
    ) throws(PayloadError) -> RecordingSession {
        let object = try JSONMembers(payload)
        var session = RecordingSession(
            key: key, name: try object.required("name"), created: try object.required("created"))
        session.state = try object.required("state")
        session.start = try object.optional("start")
        session.end = try object.optional("end")
        try readOptions(of: object, into: &session)
        let devices: [JSONMembers] = try object.required("devices")
        for member in devices {
            var device = RecordingSession.Device(joined: try member.required("joined"))
            device.problem = try member.optional("problem")
            device.rates = try member.optional("rates") ?? [:]
            device.clockBound = try member.optional("clock_bound_us")
            device.hasSamples = try member.required("has_samples")
            device.onItsWay = try member.required("on_its_way")
            device.missing = try member.required("missing")
            let calibration: JSONMembers? = try member.optional("calibration")
            device.calibration = try calibration.map { object throws(PayloadError) in
                String(decoding: CalibrationJSON.encode(try CalibrationJSON.decode(object)), as: UTF8.self)
            }
            session.devices[try deviceID(try member.required("device"))] = device
        }
        let markers: [JSONMembers] = try object.required("markers")
        for member in markers {
            session.add(
                try marker(member, id: try member.required("id"), clock: try member.required("clock"), at: nil))
        }
        return session
    }

    /// Decodes what ``encodeWithKey(_:markers:streams:)`` wrote with streams, without their gaps.
    /// - Throws: ``PayloadError`` with the reason.
    package static func decodeWithKey(
        _ payload: Data
    ) throws(PayloadError) -> (session: RecordingSession, streams: [RecordingSession.Series]) {
        let object = try JSONMembers(payload)
        let (group, id): (String, String) = (try object.required("group"), try object.required("id"))
        let key: RecordingSession.Key
        do { key = .init(group: try GroupID(validating: group), id: try SessionID(validating: id)) } catch {
            throw PayloadError("\(error)")
        }
        let streams: [JSONMembers] = try object.required("streams")
        return (
            try decode(payload, of: key),
            try streams.map { member throws(PayloadError) in
                let samples: Int64 = try member.required("samples")
                return RecordingSession.Series(
                    device: try deviceID(try member.required("device")), stream: try member.required("stream"),
                    samples: Int(samples), gaps: [])
            }
        )
    }

    // MARK: Requests

    /// Encodes a request.
    public static func encode(_ request: SessionRequest) -> [UInt8] {
        var object = JSONObjectWriter()
        switch request {
        case .start(let session):
            object.member("name", session.name)
            object.member("start", ifPresent: session.start?.microseconds)
            if !session.includesGroup {
                object.member("devices", session.devices.keys.sorted()) { $0.string($1.rawValue) }
            }
            write(options: session, into: &object)
        case .mark(let marker): write(marker, into: &object, clock: nil)
        case .edit(let name, let labels, let note):
            object.member("name", ifPresent: name)
            object.member("labels") { object in
                for (label, value) in labels.sorted(by: { $0.key < $1.key }) { object.member(label, orNull: value) }
            }
            object.member("note", ifPresent: note)
        case .split(let time, let id, let name):
            object.member("t", time.microseconds)
            object.member("id", id.rawValue)
            object.member("name", ifPresent: name)
        case .stop, .delete: break
        }
        return object.finish()
    }

    /// Decodes a request. A payload of a marker that is not an object is its text.
    /// - Parameters:
    ///   - key: the session of the topic.
    ///   - now: the time of receipt.
    ///   - streams: the streams that a request may name.
    /// - Throws: ``PayloadError`` with the reason.
    public static func decode(
        _ verb: SessionRequest.Verb, _ payload: Data, of key: RecordingSession.Key, at now: Timestamp,
        streams: StreamCatalog = .builtIn
    ) throws(PayloadError) -> SessionRequest {
        switch verb {
        case .stop: return .stop
        case .delete: return .delete
        case .start:
            let object = try JSONMembers(payload)
            var session = RecordingSession(key: key, name: try text("name", try object.required("name")), created: now)
            let devices: [String]? = try object.optional("devices")
            guard devices.map({ (1...maxDevices).contains($0.count) }) ?? true else {
                throw PayloadError("'devices' must have 1 to \(maxDevices) names; leave it out for all of the group")
            }
            session.includesGroup = devices == nil
            for name in devices ?? [] { session.devices[try deviceID(name)] = .init(joined: now) }
            try readOptions(of: object, into: &session)
            session.start = try object.optional("start")
            guard session.start.map({ $0.microseconds >= 0 && $0 <= now }) ?? true else {
                throw PayloadError(
                    "'start' must be from 1970 to now: a session starts in the past, or when its devices are ready")
            }
            for (name, rate) in session.rates {
                guard streams.stream(named: name)?.name == name else {
                    throw PayloadError(streams.unknownStreamMessage(for: name))
                }
                guard RateLease.validRates.contains(rate) else {
                    throw PayloadError("the rate of '\(name)' must be from 0.001 to 10000")
                }
            }
            return .start(session)
        case .mark:
            let start = payload.first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
            guard start == UInt8(ascii: "{") else {
                let text = try text("text", String(decoding: payload, as: UTF8.self))
                // Messages that are read together have the same time.
                return .mark(.init(id: "\(Epoch.random())", time: now, clock: .arrival, text: text))
            }
            let object = try JSONMembers(payload)
            let time: Timestamp? = try object.optional("t")
            let marker = try marker(
                object, id: try object.optional("id") ?? time.map { "\($0.microseconds)" } ?? "\(Epoch.random())",
                clock: time == nil ? .arrival : .client, at: now)
            return .mark(marker)
        case .split:
            let object = try JSONMembers(payload)
            let text: String = try object.required("id")
            let id: SessionID
            do { id = try SessionID(validating: text) } catch { throw PayloadError(error.description) }
            let name: String? = try object.optional("name")
            return .split(
                at: try object.required("t"), id: id,
                name: try name.map { value throws(PayloadError) in try self.text("name", value) })
        case .edit:
            let object = try JSONMembers(payload)
            let name: String? = try object.optional("name")
            let note: String? = try object.optional("note")
            let labels: [String: String?] = try object.optional("labels") ?? [:]
            try check(labels: labels)
            return .edit(
                name: try name.map { value throws(PayloadError) in try text("name", value) }, labels: labels,
                note: try note.map { value throws(PayloadError) in try text("note", value) })
        }
    }

    /// - Parameter now: the time of a marker that has none, or nil if it must have one.
    private static func marker(
        _ object: JSONMembers, id: String, clock: RecordingSession.Marker.Clock, at now: Timestamp?
    ) throws(PayloadError) -> RecordingSession.Marker {
        let device: String? = try object.optional("device")
        let duration: Double? = try object.optional("duration_s")
        guard duration.map({ (0...1e9).contains($0) }) ?? true else {
            throw PayloadError("'duration_s' must be from 0 to 1e9")
        }
        let time: Timestamp? = try object.optional("t")
        guard let time = time ?? now else { throw PayloadError("'t' is missing") }
        guard time.microseconds >= 0 else { throw PayloadError("'t' must be a time in µs since 1970") }
        guard (1...128).contains(id.utf8.count) else { throw PayloadError("'id' must have 1 to 128 bytes") }
        return RecordingSession.Marker(
            id: id, time: time, clock: clock, text: try text("text", try object.required("text")),
            device: try device.map { name throws(PayloadError) in try deviceID(name) },
            value: try object.optional("value"), duration: duration.map { Int64(($0 * 1e6).rounded()) })
    }

    private static func readOptions(
        of object: JSONMembers, into session: inout RecordingSession
    ) throws(PayloadError) {
        session.rates = try object.optional("rates") ?? [:]
        session.labels = try object.optional("labels") ?? [:]
        try check(labels: session.labels)
        let note: String? = try object.optional("note")
        session.note = try note.map { value throws(PayloadError) in try text("note", value) }
        session.clockBound = try object.optional("clock_bound_us")
        session.length = try duration("for_s", of: object)
        session.patience = try duration("within_s", of: object) ?? session.patience
    }

    private static func duration(_ name: String, of object: JSONMembers) throws(PayloadError) -> Int64? {
        guard let seconds: Double = try object.optional(name) else { return nil }
        guard (0...1e9).contains(seconds) else { throw PayloadError("'\(name)' must be from 0 to 1e9") }
        return Int64((seconds * 1e6).rounded())
    }

    private static func check(labels: [String: some Any]) throws(PayloadError) {
        guard labels.count <= maxLabels, labels.allSatisfy({ (1...128).contains($0.key.utf8.count) }) else {
            throw PayloadError("'labels' must have at most \(maxLabels) members, with names of 1 to 128 bytes")
        }
        for (_, value) in labels { if let value = value as? String { _ = try text("labels", value) } }
    }

    /// Returns the start of a text that is as long as a text may be.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maxTextBytes else { return text }
        var (length, end) = (0, text.startIndex)
        for index in text.indices {
            length += text[index].utf8.count
            guard length <= maxTextBytes else { break }
            end = text.index(after: index)
        }
        return String(text[..<end])
    }

    private static func text(_ name: String, _ text: String) throws(PayloadError) -> String {
        guard text.utf8.count <= maxTextBytes, !text.isEmpty || name == "note" || name == "labels" else {
            throw PayloadError("'\(name)' must have 1 to \(maxTextBytes) bytes")
        }
        return text
    }

    private static func deviceID(_ name: String) throws(PayloadError) -> DeviceID {
        do { return try DeviceID(validating: name) } catch { throw PayloadError(error.description) }
    }
}

extension RecordingSession.State: JSONReadable {}
extension RecordingSession.Marker.Clock: JSONReadable {}

extension JSONObjectWriter {
    /// Writes a member with the rates of streams.
    fileprivate mutating func member(_ name: String, rates: [String: Double]) {
        member(name) { object in
            for (stream, rate) in rates.sorted(by: { $0.key < $1.key }) { object.member(stream, rate) }
        }
    }
}
