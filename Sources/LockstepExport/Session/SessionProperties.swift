import LockstepModel

extension RecordingSession {
    /// What a file tells about the session, as texts.
    var properties: [(key: String, value: String)] {
        var properties = [
            ("name", name), ("id", key.id.rawValue), ("group", key.group.rawValue), ("state", state.rawValue),
        ]
        if let start { properties.append(("start", "\(start)")) }
        if let end { properties.append(("end", "\(end)")) }
        if let note { properties.append(("note", note)) }
        for (stream, rate) in rates.sorted(by: { $0.key < $1.key }) { properties.append(("rate/\(stream)", "\(rate)")) }
        for (label, value) in labels.sorted(by: { $0.key < $1.key }) { properties.append(("label/\(label)", value)) }
        return properties
    }
}

extension RecordingSession.Device {
    /// What a file tells about the device, as texts.
    var properties: [(key: String, value: String)] {
        var properties = [("missing_batches", "\(missing)"), ("batches_on_their_way", "\(onItsWay)")]
        if let clockBound { properties.append(("clock_bound_us", "\(clockBound)")) }
        if let problem { properties.append(("problem", problem)) }
        return properties
    }
}
