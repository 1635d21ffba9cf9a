import CNATS

extension NATSOptions {
    /// Returns the options for libnats, which the caller must destroy.
    /// - Throws: ``NATSError`` for values that libnats rejects, such as an unreadable file.
    func makeLibraryOptions() throws(NATSError) -> OpaquePointer {
        var created: OpaquePointer?
        guard natsOptions_Create(&created) == NATS_OK, let options = created else {
            throw NATSError("libnats cannot be initialized")
        }
        do throws(NATSError) {
            try setConnection(options)
            if servers.usesTLS { try setTLS(options) }
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
        return options
    }

    private func setConnection(_ options: OpaquePointer) throws(NATSError) {
        let urls = servers.urls.map { Array($0.utf8CString) }
        try check(
            Self.withPointers(urls) { natsOptions_SetServers(options, $0, Int32(urls.count)) },
            "invalid addresses \(servers)")
        try check(natsOptions_SetName(options, name), "invalid name '\(name)'")
        if let user { try check(natsOptions_SetUserInfo(options, user, password ?? ""), "invalid user '\(user)'") }
        try check(natsOptions_SetTimeout(options, connectTimeout), "invalid timeout")
        // A new connection is made instead, so that no request is sent later than its sender knows.
        try check(natsOptions_SetAllowReconnect(options, false), "invalid option")
        try check(natsOptions_SetPingInterval(options, 2000), "invalid interval")
        try check(natsOptions_SetMaxPingsOut(options, 2), "invalid number of pings")
    }

    private func setTLS(_ options: OpaquePointer) throws(NATSError) {
        try check(natsOptions_SetSecure(options, true), "libnats has no TLS")
        if let authorityFile {
            try check(
                natsOptions_LoadCATrustedCertificates(options, authorityFile), "cannot use the file \(authorityFile)")
        }
        if let certificateFile, let keyFile {
            try check(
                natsOptions_LoadCertificatesChain(options, certificateFile, keyFile),
                "cannot use the files \(certificateFile) and \(keyFile)")
        }
    }

    private func check(_ status: natsStatus, _ task: String) throws(NATSError) {
        guard status == NATS_OK else { throw NATSError(status, task) }
    }

    /// Calls `body` with pointers to the texts.
    private static func withPointers(
        _ texts: [[CChar]], _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> natsStatus
    ) -> natsStatus {
        let flat = texts.flatMap { $0 }
        return flat.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return NATS_OK }
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = texts.map { text in
                defer { offset += text.count }
                return base + offset
            }
            return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress) }
        }
    }
}
