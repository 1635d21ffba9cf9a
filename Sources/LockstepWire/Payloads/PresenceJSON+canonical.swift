package import LockstepModel

extension PresenceJSON {
    /// Decodes a presence message in the canonical form that ``encode(_:)`` writes, without dropped batches.
    ///
    /// This fast path exists because thousands of devices each send two heartbeats per minute.
    /// - Returns: nil for any other form, whether it is invalid or valid JSON written differently.
    package static func decodeCanonical(_ payload: UnsafeRawBufferPointer) -> Presence? {
        var scanner = CanonicalScanner(payload)
        return scanner.scanPresence()
    }
}

extension CanonicalScanner {
    fileprivate mutating func scanPresence() -> Presence? {
        guard scan(byte: "{") else { return nil }
        var presence = Presence(epoch: nil, session: nil, phase: .foreground, at: nil)
        if scan(#""epoch":""#) {
            guard let epoch = scanRestOfText().flatMap(Epoch.init(rawValue:)), scan(byte: ",") else { return nil }
            presence.epoch = epoch
        }
        if scan(#""after":""#) {
            guard let epoch = scanRestOfText().flatMap(Epoch.init(rawValue:)), scan(byte: ",") else { return nil }
            presence.after = epoch
        }
        if scan(#""session":"#) {
            guard let session = scanTime(), scan(byte: ",") else { return nil }
            presence.session = session
        }
        guard scan(#""phase":""#), let phase = scanRestOfText().flatMap(Phase.init(rawValue:)) else { return nil }
        presence.phase = phase
        if scan(#","at":"#) {
            guard let at = scanTime() else { return nil }
            presence.at = Timestamp(microseconds: at)
        }
        if scan(#","reason":""#) {
            guard let reason = scanRestOfText(), reason.utf8.count <= 200 else { return nil }
            presence.reason = reason
        }
        if scan(#","sources":{"#) {
            guard let sources = scanRestOfTexts() else { return nil }
            presence.sources = sources
        }
        return scan(byte: "}") && isAtEnd ? presence : nil
    }

    /// Scans a time in µs since 1970.
    private mutating func scanTime() -> Int64? {
        scanWholeNumber().flatMap { (0..<BatchRules.maximumInteger).contains($0) ? $0 : nil }
    }

    /// Scans the rest of an object of strings, up to and including its closing brace.
    private mutating func scanRestOfTexts() -> [String: String]? {
        var texts: [String: String] = [:]
        repeat {
            guard scan(byte: "\""), let name = scanRestOfText(), scan(#":""#), let text = scanRestOfText(),
                texts.updateValue(text, forKey: name) == nil
            else { return nil }
        } while scan(byte: ",")
        return scan(byte: "}") ? texts : nil
    }
}
