import Glibc

/// The functions of OpenSSL that report more details than libmosquitto.
///
/// They are looked up in the process, where libmosquitto has loaded OpenSSL. Linking OpenSSL would require its headers
/// for every build, and libmosquitto may be built without it.
enum TLSLibrary {
    private typealias Result = @convention(c) (UnsafeMutableRawPointer) -> Int
    private typealias Text = @convention(c) (Int) -> UnsafePointer<CChar>?
    private typealias Number = @convention(c) (UnsafeMutableRawPointer) -> Int32

    /// Returns the verification result of the broker's certificate (`X509_V_ERR_…`), or 0 if unknown.
    static func verification(of session: UnsafeMutableRawPointer) -> Int {
        guard let symbol = dlsym(nil, "SSL_get_verify_result") else { return 0 }
        return unsafeBitCast(symbol, to: Result.self)(session)
    }

    /// Returns OpenSSL's text for a verification result.
    static func text(ofVerification result: Int) -> String? {
        guard result > 0, let symbol = dlsym(nil, "X509_verify_cert_error_string") else { return nil }
        return unsafeBitCast(symbol, to: Text.self)(result).map { String(cString: $0) }
    }

    /// Returns the certificate that the broker has presented, in DER, or nil if it is unknown.
    static func peerCertificate(of session: UnsafeMutableRawPointer) -> [UInt8]? {
        typealias Get = @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer?
        typealias Encode =
            @convention(c) (UnsafeMutableRawPointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
        typealias Free = @convention(c) (UnsafeMutableRawPointer) -> Void
        // The second name is that of OpenSSL 1.1.
        guard let get = dlsym(nil, "SSL_get1_peer_certificate") ?? dlsym(nil, "SSL_get_peer_certificate"),
            let encode = dlsym(nil, "i2d_X509"), let free = dlsym(nil, "X509_free"),
            let certificate = unsafeBitCast(get, to: Get.self)(session)
        else { return nil }
        defer { unsafeBitCast(free, to: Free.self)(certificate) }
        let length = Int(unsafeBitCast(encode, to: Encode.self)(certificate, nil))
        guard length > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            var position = buffer.baseAddress
            count = max(0, Int(unsafeBitCast(encode, to: Encode.self)(certificate, &position)))
        }
    }

    /// Returns whether a session uses TLS 1.3 (`TLS1_3_VERSION`).
    static func isVersion13(_ session: UnsafeMutableRawPointer) -> Bool {
        guard let symbol = dlsym(nil, "SSL_version") else { return false }
        return unsafeBitCast(symbol, to: Number.self)(session) == 0x0304
    }

    /// Returns whether the handshake of a session is complete on this side, or true if unknown.
    static func isHandshakeComplete(_ session: UnsafeMutableRawPointer) -> Bool {
        guard let symbol = dlsym(nil, "SSL_is_init_finished") else { return true }
        return unsafeBitCast(symbol, to: Number.self)(session) != 0
    }
}
