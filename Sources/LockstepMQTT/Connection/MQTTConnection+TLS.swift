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

    /// Ends the handshake and waits for the broker's word on this side's certificate, for as long as all took until then,
    /// a fifth of a second at the least and a second at the most.
    ///
    /// With TLS 1.3 the handshake is over here before the broker has looked at the certificate. It answers with tickets
    /// or with the reason of its refusal, and in the latter case hangs up: whoever writes into that learns that the
    /// connection is gone, and never why. Some brokers have no tickets to send, so the wait has to end.
    /// - Parameter start: when connecting began.
    func awaitTLSVerdict(since start: ContinuousClock.Instant) {
        // A handshake that goes on for longer is ended by the first reads and writes.
        var deadline = ContinuousClock.now + .seconds(5)
        var isOver = false
        while !hasEnded, let session = mosquitto_ssl_get(handle), let descriptor {
            if !isOver, TLSLibrary.hasEndedHandshake(session) {
                guard TLSLibrary.isVersion13(session) else {
                    hasTLSVerdict = true
                    return
                }
                isOver = true
                deadline = .now + min(max(.now - start, .milliseconds(200)), .seconds(1))
            }
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { return }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, Int32(left.rounded(.up))) == 1 else { continue }
            // What it is shows when it is read, which comes before the first write.
            if isOver {
                hasTLSVerdict = true
                return
            }
            let status = mosquitto_loop_read(handle, 1)
            if status != 0 { end(with: failure(status)) }
        }
    }

    /// The error for a return value of the library, with what its log has said before.
    func failure(_ status: Int32) -> MQTTError {
        if let tlsCause { return MQTTError(.tls, tlsCause) }
        // So libmosquitto tells every end of TLS, of a broker that was killed as well.
        guard options.address.usesTLS, status == Int32(MOSQ_ERR_ERRNO.rawValue), errno == EPROTO else {
            return MQTTError(library: status, detail: lastProblem)
        }
        if isAccepted { return MQTTError(.connectionLost, "the connection was lost") }
        if let lastProblem { return MQTTError(.tls, "the broker ended TLS: \(lastProblem)") }
        return hasTLSVerdict
            ? MQTTError(.connectionLost, "the broker hung up without an answer to the greeting")
            : MQTTError(.unreachable, "the broker ended the TLS handshake: its log may say why")
    }
}
