public import ArgumentParser

/// The options of a server's certificate.
public struct CertificateOptions: ParsableArguments {
    /// The names of the settings.
    public static let names = ["tls-certificate", "tls-key"]

    @Option(
        name: .customLong("tls-certificate"),
        help: "PEM file with the certificate of the server and its intermediate certificates.")
    var certificate: String?

    @Option(
        name: .customLong("tls-key"), help: "PEM file with the private key of the server, readable only by its owner.")
    var key: String?

    public init() {}

    /// Returns the paths of the PEM files, or nil for a server without TLS.
    /// - Throws: ``CommandFailure`` if only one of the two is given, or others can read the key.
    public func files(_ settings: Settings) throws -> (certificateFile: String, keyFile: String)? {
        let certificate = try settings.value("tls-certificate", certificate) { $0 }
        let key = try settings.value("tls-key", key, parse: { try SecretFile.check($0) })
        switch (certificate, key) {
        case (let certificate?, let key?): return (certificate, key)
        case (nil, nil): return nil
        default: throw CommandFailure("--tls-certificate and --tls-key must be used together")
        }
    }
}
