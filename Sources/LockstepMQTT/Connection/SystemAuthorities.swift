import Glibc

/// Where the operating system keeps the certificates of the authorities that it trusts.
///
/// libmosquitto 2.0 can take OpenSSL's own places, but then takes no certificate for the client.
enum SystemAuthorities {
    /// `SSL_CERT_FILE`, as OpenSSL has it, or the bundle of a distribution; nil where there is none.
    static var file: String? {
        let named = getenv("SSL_CERT_FILE").map { String(cString: $0) }
        return named ?? bundles.first { access($0, R_OK) == 0 }
    }

    /// Certificates by the hash of their names.
    static let folder = "/etc/ssl/certs"

    /// Debian and Alpine, Fedora, openSUSE.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]
}
