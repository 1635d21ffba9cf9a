package import LockstepModel

extension PresenceJSON {
    /// Reads a presence in exactly the form that ``encode(_:)`` gives it, but for one that tells of dropped batches: each
    /// device of thousands says it twice a minute.
    /// - Returns: nil for everything else, be it wrong or only written differently.
    package static func decodeCanonical(_ payload: UnsafeRawBufferPointer) -> Presence? {
        var scanner = CanonicalScanner(payload)
        return scanner.takePresence()
    }
}

extension CanonicalScanner {
    fileprivate mutating func takePresence() -> Presence? {
        guard take(byte: "{") else { return nil }
        var presence = Presence(epoch: nil, session: nil, phase: .foreground, at: nil)
        if take(#""epoch":""#) {
            guard let epoch = takeRestOfText().flatMap(Epoch.init(rawValue:)), take(byte: ",") else { return nil }
            presence.epoch = epoch
        }
        if take(#""after":""#) {
            guard let epoch = takeRestOfText().flatMap(Epoch.init(rawValue:)), take(byte: ",") else { return nil }
            presence.after = epoch
        }
        if take(#""session":"#) {
            guard let session = takeTime(), take(byte: ",") else { return nil }
            presence.session = session
        }
        guard take(#""phase":""#), let phase = takeRestOfText().flatMap(Phase.init(rawValue:)) else { return nil }
        presence.phase = phase
        if take(#","at":"#) {
            guard let at = takeTime() else { return nil }
            presence.at = Timestamp(microseconds: at)
        }
        if take(#","reason":""#) {
            guard let reason = takeRestOfText(), reason.utf8.count <= 200 else { return nil }
            presence.reason = reason
        }
        if take(#","sources":{"#) {
            guard let sources = takeRestOfTexts() else { return nil }
            presence.sources = sources
        }
        return take(byte: "}") && isAtEnd ? presence : nil
    }

    /// µs since 1970.
    private mutating func takeTime() -> Int64? {
        takeWholeNumber().flatMap { (0..<BatchRules.maximumInteger).contains($0) ? $0 : nil }
    }

    /// What is left of an object of texts, to its closing brace.
    private mutating func takeRestOfTexts() -> [String: String]? {
        var texts: [String: String] = [:]
        repeat {
            guard take(byte: "\""), let name = takeRestOfText(), take(#":""#), let text = takeRestOfText(),
                texts.updateValue(text, forKey: name) == nil
            else { return nil }
        } while take(byte: ",")
        return take(byte: "}") ? texts : nil
    }
}
