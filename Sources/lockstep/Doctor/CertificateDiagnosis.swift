import LockstepCommandLine
import LockstepMQTT
import LockstepModel
import LockstepWire

/// The findings about certificates that expire soon.
struct CertificateDiagnosis {
    let now: Timestamp

    /// Returns a warning for each certificate that expires within 30 days, and a failure for one that has expired.
    /// - Parameters:
    ///   - subject: the program that uses the certificates.
    ///   - times: the ends of their validity.
    func findings(_ subject: String, _ times: CertificateTimes) -> [Finding] {
        times.sorted { $0.key < $1.key }.filter { $0.value - now < CertificateWatch.warningTime }.map { use, time in
            let days = (time - now) / 86_400_000_000
            return Finding(
                time < now ? .failure : .warning, subject,
                time < now
                    ? "\(name(use)) has expired on \(time.shown.prefix(10))"
                    : "\(name(use)) expires in \(counted(Int(days), "day")), on \(time.shown.prefix(10))",
                "renew it: connections are refused afterwards. Certificates of 'lockstep certs': run it again, and copy "
                    + "the new files")
        }
    }

    private func name(_ use: String) -> String {
        switch CertificateWatch.Use(rawValue: use) {
        case .broker: "the broker's certificate"
        case .ca: "the certificate of the trusted authority (--ca-file)"
        case .client: "the client certificate (--cert-file)"
        case .server: "the certificate of its server (--server-cert-file)"
        case nil: "a certificate"
        }
    }
}
