import CMosquitto
import Glibc

extension MQTTConnection {
    /// Passes the TLS files to libmosquitto.
    /// - Throws: ``MQTTError`` for files that are unreadable or invalid.
    func configureTLS() throws(MQTTError) {
        let tls = options.tls
        for file in [tls.authorityFile, tls.certificateFile, tls.keyFile].compactMap({ $0 })
        where access(file, R_OK) != 0 {
            throw MQTTError(.tls, "cannot read \(file): \(String(cString: strerror(errno)))")
        }
        let authorities = tls.authorityFile ?? SystemAuthorities.file
        let status = mosquitto_tls_set(
            handle, authorities, authorities == nil ? SystemAuthorities.folder : nil, tls.certificateFile, tls.keyFile,
            nil)
        guard status == 0 else {
            throw MQTTError(.tls, "libmosquitto rejected the TLS files: a certificate and its key are both required")
        }
    }

    /// Completes the TLS handshake and waits until the broker has accepted or refused the client certificate.
    ///
    /// With TLS 1.3, the handshake is complete on the client before the broker has verified the client certificate. The
    /// broker then sends session tickets, or an alert with the reason of the refusal, and closes the connection. If
    /// the client writes before it has read the alert, the error is only "connection lost". Some brokers send no
    /// tickets, so the wait is limited to the time that connecting took so far, at least 0.2 s and at most 1 s.
    /// - Parameter start: the time at which connecting started.
    func awaitCertificateDecision(since start: ContinuousClock.Instant) {
        // If the handshake takes longer, the first reads and writes complete it.
        var deadline = ContinuousClock.now + .seconds(5)
        var isComplete = false
        // The libmosquitto of Debian 13 begins the handshake only with this.
        readHandshake()
        while !hasEnded, let session = mosquitto_ssl_get(handle), let descriptor {
            if !isComplete, TLSLibrary.isHandshakeComplete(session) {
                guard TLSLibrary.isVersion13(session) else {
                    hasCertificateDecision = true
                    return
                }
                isComplete = true
                deadline = .now + min(max(.now - start, .milliseconds(200)), .seconds(1))
            }
            let remaining = (deadline - .now) / .milliseconds(1)
            guard remaining > 0 else { return }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(remaining.rounded(.up))) == 1 else { continue }
            // A ticket or an alert has arrived. The owner reads it before its first write.
            if isComplete {
                hasCertificateDecision = true
                return
            }
            readHandshake()
        }
    }

    private func readHandshake() {
        let status = mosquitto_loop_read(handle, 1)
        if status != 0 { end(with: failure(status)) }
    }

    /// Returns the error for a return value of libmosquitto, with the cause that libmosquitto has logged.
    func failure(_ status: Int32) -> MQTTError {
        if let tlsCause { return MQTTError(.tls, tlsCause) }
        if !isAccepted, let error = MQTTError.unreadableAnswer(status, version: options.version) { return error }
        // libmosquitto reports every end of a TLS connection as EPROTO, even if the broker was killed.
        guard options.address.usesTLS, status == Int32(MOSQ_ERR_ERRNO.rawValue), errno == EPROTO else {
            let error = MQTTError(library: status, detail: lastProblem)
            guard error.code == .connectionLost, !isAccepted, !options.address.usesTLS else { return error }
            return MQTTError(
                error.code, error.description + " before the broker answered: if this port is for TLS, use mqtts://")
        }
        if isAccepted { return MQTTError(.connectionLost, "the connection was lost") }
        if let lastProblem { return MQTTError(.tls, "the broker closed the TLS connection: \(lastProblem)") }
        return hasCertificateDecision
            ? MQTTError(.connectionLost, "the broker closed the connection without answering CONNECT")
            : MQTTError(
                .handshakeAborted,
                "the broker aborted the TLS handshake: check that the port uses TLS; if not, use mqtt://; or see its log"
            )
    }
}
