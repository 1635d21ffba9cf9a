package import LockstepModel

extension PresenceJSON {
    /// Decodes a presence message in the canonical form that ``encode(_:)`` writes, without dropped batches.
    ///
    /// This fast path reduces CPU use: thousands of devices each send two heartbeats per minute.
    /// - Returns: nil for any other form, which may be invalid or valid JSON.
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
            guard let epoch = scanRestOfString().flatMap(Epoch.init(rawValue:)), scan(byte: ",") else { return nil }
            presence.epoch = epoch
        }
        if scan(#""after":""#) {
            guard let epoch = scanRestOfString().flatMap(Epoch.init(rawValue:)), scan(byte: ",") else { return nil }
            presence.after = epoch
        }
        if scan(#""session":"#) {
            guard let session = scanTime(), scan(byte: ",") else { return nil }
            presence.session = session
        }
        guard scan(#""phase":""#), let phase = scanRestOfString().flatMap(Phase.init(rawValue:)) else { return nil }
        presence.phase = phase
        if scan(#","at":"#) {
            guard let at = scanTime() else { return nil }
            presence.at = Timestamp(microseconds: at)
        }
        if scan(#","reason":""#) {
            guard let reason = scanRestOfString(), reason.utf8.count <= 200 else { return nil }
            presence.reason = reason
        }
        if scan(#","seq":"#) {
            guard let seq = scanTime() else { return nil }
            presence.seq = seq
        }
        if scan(#","pending":{"#) {
            guard let pending = scanRestOfPending() else { return nil }
            presence.pending = pending
        }
        if scan(#","sources":{"#) {
            guard let sources = scanRestOfStringObject() else { return nil }
            presence.sources = PresenceJSON.limited(sources)
        }
        if scan(#","problem":""#) {
            guard let problem = scanRestOfString(), problem.utf8.count <= PresenceJSON.maxProblem else { return nil }
            presence.problem = problem
        }
        if scan(#","clock":{"#) {
            guard let clock = scanRestOfClock() else { return nil }
            presence.clock = clock
        }
        if scan(#","certificates":{"#) {
            guard let certificates = scanRestOfCertificates() else { return nil }
            presence.certificates = certificates
        }
        return scan(byte: "}") && isAtEnd ? presence : nil
    }

    /// Scans a time in µs since 1970, or the number of a batch.
    private mutating func scanTime() -> Int64? {
        scanWholeNumber().flatMap { (0..<BatchRules.integerLimit).contains($0) ? $0 : nil }
    }

    /// Scans an object of strings whose opening brace is already scanned, including its closing brace.
    private mutating func scanRestOfStringObject() -> [String: String]? {
        var strings: [String: String] = [:]
        repeat {
            guard scan(byte: "\""), let name = scanRestOfString(), scan(#":""#), let text = scanRestOfString(),
                strings.updateValue(text, forKey: name) == nil
            else { return nil }
        } while scan(byte: ",")
        return scan(byte: "}") ? strings : nil
    }
}
