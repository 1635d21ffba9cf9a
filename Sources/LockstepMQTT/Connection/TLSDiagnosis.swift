/// Explains why a TLS handshake failed.
///
/// libmosquitto returns only "TLS failed" and logs the error text of OpenSSL. That text states neither what is wrong
/// with a certificate nor whether it is the certificate of the broker or of the client.
enum TLSDiagnosis {
    /// Returns the cause of an error that libmosquitto has logged.
    /// - Parameters:
    ///   - host: the host name of the broker.
    ///   - session: OpenSSL's session (`SSL *`), which must still exist.
    /// - Returns: nil if the text has no known TLS cause.
    static func cause(of text: String, host: String, session: UnsafeMutableRawPointer?) -> String? {
        if text.contains("host name verification failed") {
            return
                "the broker's certificate is not valid for '\(host)': use a name in the certificate, or replace the certificate"
        }
        if text.contains("certificate verify failed") {
            return verification(session.map(TLSLibrary.verification(of:)) ?? 0)
        }
        return refusals.first { text.contains($0.pattern) }?.cause
    }

    /// The causes of alerts from the broker and of errors of libmosquitto, by a part of the logged text.
    private static let refusals: [(pattern: String, cause: String)] = [
        (
            "alert certificate required",
            "the broker requires a client certificate: add --cert-file and --key-file"
        ),
        (
            "alert handshake failure",
            "the broker refused the TLS handshake: check whether it requires a client certificate (--cert-file, --key-file)"
        ),
        ("alert unknown ca", "the broker does not trust the CA of the client certificate"),
        ("alert certificate expired", "the client certificate has expired: renew the one in --cert-file"),
        ("alert certificate revoked", "the client certificate was revoked"),
        ("alert bad certificate", "the broker refused the client certificate"),
        ("alert certificate unknown", "the broker refused the client certificate"),
        ("alert unsupported certificate", "the client certificate is not valid for client authentication"),
        ("alert protocol version", "the broker does not support this version of TLS"),
        ("unsupported protocol", "the broker does not support this version of TLS"),
        ("wrong version number", "the broker does not use TLS on this port: check the port for mqtts://"),
        (
            "unexpected eof",
            "the server closed the connection during the TLS handshake: check that the port uses TLS; if not, use mqtt://"
        ),
        ("Unable to load CA", "the file in --ca-file contains no certificate"),
        ("Unable to load client certificate", "the file in --cert-file contains no certificate"),
        (
            "Unable to load client key",
            "the file in --key-file contains no key, an encrypted key, or a key of another certificate"
        ),
        ("certificate are inconsistent", "the key in --key-file does not match the certificate"),
    ]

    /// Returns the cause for a verification result of OpenSSL (`X509_V_ERR_…`).
    static func verification(_ result: Int) -> String {
        switch result {
        case 9: "the broker's certificate is not valid yet: check the clock of this machine"
        case 10: "the broker's certificate has expired"
        case 18, 19, 20, 21:
            "the broker's certificate is not signed by a trusted CA: add its CA with --ca-file"
        case 23: "the broker's certificate was revoked"
        case 26: "the broker's certificate is not valid for server authentication"
        case 62, 64: "the broker's certificate is not valid for this host name"
        default:
            "cannot verify the broker's certificate"
                + (TLSLibrary.text(ofVerification: result).map { ": \($0)" } ?? "")
        }
    }
}
