import Foundation

/// The PEM files of a self-signed certificate for `localhost`.
public struct TestCertificate {
    public let certificate: String
    public let key: String

    /// Creates the files `NAME.pem` and `NAME.key` in a folder.
    public init(_ name: String = "server", in folder: String, days: Int = 2) async throws {
        certificate = "\(folder)/\(name).pem"
        key = "\(folder)/\(name).key"
        let openssl = try await RunningProgram.run(
            "/usr/bin/openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "\(days)",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key,
                "-out", certificate,
            ])
        guard openssl.status == 0 else { throw ProgramError("openssl failed: \(openssl.text)") }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    }
}
