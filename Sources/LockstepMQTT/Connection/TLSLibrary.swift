import Glibc

/// The functions of OpenSSL that say more than libmosquitto does.
///
/// Looked up in the process, where libmosquitto has them loaded: to link OpenSSL would ask for its headers wherever
/// this is built, and a libmosquitto without it has nothing to look up.
enum TLSLibrary {
    private typealias Result = @convention(c) (UnsafeMutableRawPointer) -> Int
    private typealias Text = @convention(c) (Int) -> UnsafePointer<CChar>?
    private typealias Number = @convention(c) (UnsafeMutableRawPointer) -> Int32

    /// What came of looking at the broker's certificate: `X509_V_ERR_…`, 0 where it is not known.
    static func verification(of session: UnsafeMutableRawPointer) -> Int {
        guard let symbol = dlsym(nil, "SSL_get_verify_result") else { return 0 }
        return unsafeBitCast(symbol, to: Result.self)(session)
    }

    /// OpenSSL's words for a `X509_V_ERR_…`.
    static func text(ofVerification result: Int) -> String? {
        guard result > 0, let symbol = dlsym(nil, "X509_verify_cert_error_string") else { return nil }
        return unsafeBitCast(symbol, to: Text.self)(result).map { String(cString: $0) }
    }

    /// Whether a session speaks TLS 1.3 (`TLS1_3_VERSION`).
    static func isVersion13(_ session: UnsafeMutableRawPointer) -> Bool {
        guard let symbol = dlsym(nil, "SSL_version") else { return false }
        return unsafeBitCast(symbol, to: Number.self)(session) == 0x0304
    }

    /// Whether this side of a session is through with its handshake; true where that is not known.
    static func hasEndedHandshake(_ session: UnsafeMutableRawPointer) -> Bool {
        guard let symbol = dlsym(nil, "SSL_is_init_finished") else { return true }
        return unsafeBitCast(symbol, to: Number.self)(session) != 0
    }
}
