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

    /// The error for a return value of the library, with what its log has said before.
    func failure(_ status: Int32) -> MQTTError {
        if let tlsCause { return MQTTError(.tls, tlsCause) }
        if options.address.usesTLS, status == Int32(MOSQ_ERR_ERRNO.rawValue), errno == EPROTO {
            // So libmosquitto tells every end of TLS, of a broker that was killed as well. Where the broker refuses this
            // side, its reason may have got lost on the way; the next try may bring it.
            return isAccepted
                ? MQTTError(.connectionLost, "the connection was lost")
                : MQTTError(.unreachable, "the broker ended the TLS handshake: its log may say why")
        }
        return MQTTError(library: status, detail: lastProblem)
    }
}
