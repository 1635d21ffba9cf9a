/// Why a TLS handshake failed, in words for the person who has to mend it.
///
/// libmosquitto says "TLS failed" and logs OpenSSL's own line, which names neither the certificate's fault nor whose
/// certificate it is.
enum TLSDiagnosis {
    /// The cause behind an error that libmosquitto logs.
    /// - Parameters:
    ///   - text: what it logs.
    ///   - session: OpenSSL's session (`SSL *`), which has to exist still.
    /// - Returns: nil where the text tells nothing of TLS that could be said better.
    static func cause(of text: String, host: String, session: UnsafeMutableRawPointer?) -> String? {
        if text.contains("host name verification failed") {
            return
                "the broker's certificate is not for '\(host)': use a name that it has, or give the broker one for it"
        }
        if text.contains("certificate verify failed") {
            return verification(session.map(TLSLibrary.verification(of:)) ?? 0)
        }
        return rejections.first { text.contains($0.sign) }?.cause
    }

    /// What the broker says of this side, in its last TLS message, by OpenSSL's names.
    private static let rejections: [(sign: String, cause: String)] = [
        (
            "alert certificate required",
            "the broker asks for a certificate, and this program has none: give --cert-file and --key-file"
        ),
        (
            "alert handshake failure",
            "the broker refused the TLS handshake: does it ask for a certificate (--cert-file, --key-file)?"
        ),
        ("alert unknown ca", "the broker does not trust the authority that signed this program's certificate"),
        ("alert certificate expired", "this program's certificate has expired: see --cert-file"),
        ("alert certificate revoked", "this program's certificate was revoked"),
        ("alert bad certificate", "the broker refused this program's certificate"),
        ("alert certificate unknown", "the broker refused this program's certificate"),
        ("alert unsupported certificate", "this program's certificate is not for a client"),
        ("alert protocol version", "the broker speaks another version of TLS"),
        ("unsupported protocol", "the broker speaks another version of TLS"),
        ("wrong version number", "no TLS there: is this the port for mqtts://?"),
        ("Unable to load CA", "the file of --ca-file has no certificates in it"),
        ("Unable to load client certificate", "the file of --cert-file has no certificate in it"),
        (
            "Unable to load client key",
            "the file of --key-file holds no key, or one with a passphrase, or not the one of the certificate"
        ),
        ("certificate are inconsistent", "the key of --key-file is not the one of the certificate"),
    ]

    /// The cause for OpenSSL's `X509_V_ERR_…`.
    static func verification(_ result: Int) -> String {
        switch result {
        case 9: "the broker's certificate is not valid yet: is this machine's clock right?"
        case 10: "the broker's certificate has expired"
        case 18, 19, 20, 21:
            "the broker's certificate is not signed by an authority that is trusted here: see --ca-file"
        case 23: "the broker's certificate was revoked"
        case 26: "the broker's certificate is not one for a server"
        case 62, 64: "the broker's certificate is not for this host name"
        default:
            "the broker's certificate can't be verified"
                + (TLSLibrary.text(ofVerification: result).map { ": \($0)" } ?? "")
        }
    }
}
