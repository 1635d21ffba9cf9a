import CMosquitto
import Glibc

extension MQTTConnection {
    /// Hands the files for TLS to the library.
    /// - Throws: ``MQTTError`` for files that it does not take.
    func configureTLS() throws(MQTTError) {
        let tls = options.tls
        for file in [tls.authorityFile, tls.certificateFile, tls.keyFile].compactMap({ $0 })
        where access(file, R_OK) != 0 {
            throw MQTTError(.tls, "\(file) can't be read: \(String(cString: strerror(errno)))")
        }
        let authorities = tls.authorityFile ?? SystemAuthorities.file
        let status = mosquitto_tls_set(
            handle, authorities, authorities == nil ? SystemAuthorities.folder : nil, tls.certificateFile, tls.keyFile,
            nil)
        guard status == 0 else {
            throw MQTTError(.tls, "libmosquitto did not take the TLS files: a certificate and its key go together")
        }
    }

    /// Ends the handshake and waits for the broker's word on this side's certificate, a second at the most.
    ///
    /// With TLS 1.3 the handshake is over here before the broker has looked at the certificate. It answers with tickets
    /// or with the reason of its refusal, and in the latter case hangs up: whoever writes into that learns that the
    /// connection is gone, and never why.
    func awaitTLSVerdict() {
        let deadline = ContinuousClock.now + .seconds(1)
        while !hasEnded, let session = mosquitto_ssl_get(handle), let descriptor {
            let isOver = TLSLibrary.hasEndedHandshake(session)
            if isOver, !TLSLibrary.isVersion13(session) { return }
            let left = (deadline - ContinuousClock.now) / .milliseconds(1)
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard left > 0, poll(&entry, 1, Int32(left.rounded(.up))) == 1, !isOver else { return }
            let status = mosquitto_loop_read(handle, 1)
            if status != 0 { end(with: failure(status)) }
        }
    }

    /// The error for a return value of the library, with what its log has said before.
    func failure(_ status: Int32) -> MQTTError {
        if let tlsCause { return MQTTError(.tls, tlsCause) }
        if options.address.usesTLS, status == Int32(MOSQ_ERR_ERRNO.rawValue), errno == EPROTO {
            // So libmosquitto tells every end of TLS, of a broker that was killed as well.
            return isAccepted
                ? MQTTError(.connectionLost, "the connection was lost")
                : MQTTError(.unreachable, "the broker ended the TLS handshake: its log may say why")
        }
        return MQTTError(library: status, detail: lastProblem)
    }
}
