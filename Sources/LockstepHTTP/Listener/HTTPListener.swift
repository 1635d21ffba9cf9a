package import HummingbirdCore
import HummingbirdTLS
import NIOSSL

/// The side of a server that accepts connections.
package enum HTTPListener {
    /// Returns the builder of a server with these limits.
    /// - Parameter tls: the PEM files of the certificate and its key, or nil for HTTP without TLS.
    /// - Throws: an error that names the file that cannot be read, or both files if they do not belong together.
    package static func builder(
        _ limits: HTTPLimits, tls files: (certificateFile: String, keyFile: String)?, connections: OpenConnections
    ) throws -> HTTPServerBuilder {
        let http = HTTP1Channel.Configuration(
            additionalChannelHandlers: [UnsentBytes(limits), RequestDeadlines(limits)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headField, maxHeaderListSize: limits.head, maxHeaderFieldCount: 100))
        guard let files else {
            return HTTPServerBuilder { responder in
                LimitedChannel(
                    base: HTTP1Channel(responder: responder, configuration: http), connections: connections,
                    usesTLS: false)
            }
        }
        let tls = try tlsConfiguration(files)
        return HTTPServerBuilder { responder in
            LimitedChannel(
                base: try TLSChannel(HTTP1Channel(responder: responder, configuration: http), tlsConfiguration: tls),
                connections: connections, usesTLS: true)
        }
    }

    /// The cipher suites of TLS 1.2: only those with forward secrecy and authenticated encryption, so neither with RSA
    /// key exchange nor with CBC. TLS 1.3 has no others.
    private static let cipherSuites = [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
    ].joined(separator: ":")

    /// Reads the certificate and its key, and checks that they belong together.
    static func tlsConfiguration(
        _ files: (certificateFile: String, keyFile: String)
    ) throws -> TLSConfiguration {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey
        do { chain = try NIOSSLCertificate.fromPEMFile(files.certificateFile) } catch {
            throw ServerError("cannot read the certificate \(files.certificateFile): check that it is a PEM file")
        }
        guard let own = try? chain.first?.toDERBytes(), isForServers(own) else {
            throw ServerError(
                "the certificate \(files.certificateFile) is not for servers, so browsers would refuse it: make one with "
                    + "'lockstep certs web HOST'")
        }
        do { key = try NIOSSLPrivateKey(file: files.keyFile, format: .pem) } catch {
            throw ServerError("cannot read the key \(files.keyFile): check that it is a PEM file without a password")
        }
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuites = cipherSuites
        tls.applicationProtocols = ["http/1.1"]
        // The server creates a context from this configuration as well, but only when it starts.
        do { _ = try NIOSSLContext(configuration: tls) } catch {
            throw ServerError(
                "cannot use the certificate \(files.certificateFile) with the key \(files.keyFile): check that they "
                    + "belong together, and that the server's own certificate is the first one in its file")
        }
        return tls
    }

    /// Whether a certificate has no extended key usage (RFC 5280, 4.2.1.12), or one that allows servers.
    private static func isForServers(_ certificate: [UInt8]) -> Bool {
        let extensionID: [UInt8] = [0x55, 0x1d, 0x25]
        let serverAuthentication: [UInt8] = [0x2b, 6, 1, 5, 5, 7, 3, 1]
        return !certificate.contains(extensionID) || certificate.contains(serverAuthentication)
            || certificate.contains(extensionID + [0])
    }
}
