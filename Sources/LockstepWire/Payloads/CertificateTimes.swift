public import LockstepModel

/// The ends of the validity of a program's certificates, by their use: `broker`, `ca`, `client` or `server`.
public typealias CertificateTimes = [String: Timestamp]

extension JSONObjectWriter {
    /// Writes the member `certificates`, unless there are none.
    mutating func member(certificates times: CertificateTimes) {
        guard !times.isEmpty else { return }
        member("certificates") { object in
            for (use, time) in times.sorted(by: { $0.key < $1.key }) { object.member(use, time.microseconds) }
        }
    }
}

extension CertificateTimes {
    /// The uses that readers know.
    static let uses = ["broker", "ca", "client", "server"]

    /// The times that are valid. Others are ignored: nothing depends on them but a warning.
    var valid: CertificateTimes {
        filter { Self.uses.contains($0.key) && (0..<1 << 53).contains($0.value.microseconds) }
    }
}
