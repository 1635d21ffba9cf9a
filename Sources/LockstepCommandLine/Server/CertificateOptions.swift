/// The settings of a server's certificate.
public struct CertificateSettings: SettingGroup {
    /// The certificate.
    public let certificate = Setting(
        "tls-certificate", "PEM file with the certificate of the server and its intermediate certificates.")
    /// The private key.
    public let key = Setting(
        "tls-key", "PEM file with the private key of the server, readable only by its owner.", SecretFile.check)

    public init() {}
}

extension Options<CertificateSettings> {
    /// Returns the paths of the PEM files, or nil for a server without TLS.
    /// - Throws: ``CommandFailure`` if only one of the two is given, or others can read the key.
    public func files(_ settings: Settings) throws -> (certificateFile: String, keyFile: String)? {
        switch (try settings.value(self.certificate), try settings.value(self.key)) {
        case (let certificate?, let key?): return (certificate, key)
        case (nil, nil): return nil
        default: throw CommandFailure("--tls-certificate and --tls-key must be used together")
        }
    }
}
