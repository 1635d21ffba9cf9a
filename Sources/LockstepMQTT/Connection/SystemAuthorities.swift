import Glibc

/// The paths of the CA certificates that the operating system trusts.
///
/// They are passed to libmosquitto explicitly: if libmosquitto 2.0 uses OpenSSL's default paths, it does not accept a
/// client certificate.
enum SystemAuthorities {
    /// The file named by `SSL_CERT_FILE`, or the bundle of the distribution; nil if there is none.
    static var file: String? {
        let named = getenv("SSL_CERT_FILE").map { String(cString: $0) }
        return named ?? bundles.first { access($0, R_OK) == 0 }
    }

    /// The folder of certificates named by their hash.
    static let folder = "/etc/ssl/certs"

    /// The bundles of Debian and Alpine, of Fedora, and of openSUSE.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
    ]
}
