import CMosquitto
import Glibc

/// What went wrong between a client and its broker.
public struct MQTTError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        /// No TCP connection: nobody listens, no such host, no route.
        case unreachable
        /// The TLS handshake failed: certificate, authority, host name.
        case tls
        case badCredentials
        case notAuthorized
        /// The broker does not speak this version of MQTT.
        case unsupportedVersion
        /// The broker refused the connection for another reason.
        case refused
        /// Another client took over this client id.
        case takenOver
        case connectionLost
        /// The message is too large for the broker.
        case tooLarge
        /// A value that libmosquitto does not take: a path, a topic.
        case invalid
        case other
    }

    public let code: Code
    /// One sentence; never with a password in it.
    public let description: String

    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}

extension MQTTError {
    /// The error for a return value of libmosquitto (`MOSQ_ERR_…`). Reads `errno` for `MOSQ_ERR_ERRNO`.
    init(library status: Int32, detail: String? = nil) {
        // Which of the two comes depends on whether the end is met while writing or while reading.
        let isLost = status == Int32(MOSQ_ERR_ERRNO.rawValue) && [EPIPE, ECONNRESET].contains(errno)
        let status = isLost ? MOSQ_ERR_CONN_LOST : mosq_err_t(status)
        let code: Code =
            switch status {
            case MOSQ_ERR_ERRNO, MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP, MOSQ_ERR_CONN_REFUSED: .unreachable
            case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: .tls
            case MOSQ_ERR_CONN_LOST, MOSQ_ERR_NO_CONN, MOSQ_ERR_KEEPALIVE: .connectionLost
            case MOSQ_ERR_PAYLOAD_SIZE, MOSQ_ERR_OVERSIZE_PACKET: .tooLarge
            case MOSQ_ERR_INVAL, MOSQ_ERR_MALFORMED_UTF8: .invalid
            case MOSQ_ERR_AUTH, MOSQ_ERR_ACL_DENIED: .notAuthorized
            default: .other
            }
        let text: String
        switch status {
        case MOSQ_ERR_ERRNO: text = String(cString: strerror(errno))
        case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: text = "the host name can't be resolved"
        case MOSQ_ERR_CONN_REFUSED: text = "Connection refused"
        case MOSQ_ERR_KEEPALIVE: text = "the broker does not answer any more"
        case MOSQ_ERR_CONN_LOST: text = "the connection was lost"
        case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: text = "TLS failed"
        default: text = String(cString: mosquitto_strerror(Int32(status.rawValue)))
        }
        self.init(code, detail.map { "\(text): \($0)" } ?? text)
    }

    /// The error for the reason in a CONNACK; its numbers differ between the versions of MQTT.
    init(connectReason reason: Int32, version: MQTTVersion) {
        switch (version, reason) {
        case (_, 132), (.three, 1): self.init(.unsupportedVersion, "the broker does not speak MQTT \(version.rawValue)")
        case (.three, 4), (.five, 134): self.init(.badCredentials, "the broker refused user name or password")
        case (.three, 5), (.five, 135):
            self.init(.notAuthorized, "the broker refused this client: check user name, password and access rights")
        case (.three, 2), (.five, 133): self.init(.refused, "the broker refused the client id")
        case (.three, _):
            self.init(.refused, "the broker refused: \(String(cString: mosquitto_connack_string(reason)))")
        case (.five, _): self.init(.refused, "the broker refused: \(String(cString: mosquitto_reason_string(reason)))")
        }
    }

    /// The error for the reason with which a broker ended a connection (MQTT 5), or libmosquitto's own.
    init(disconnectReason reason: Int32, detail: String?) {
        switch reason {
        case 142: self.init(.takenOver, "another client took over this client id")
        case 149: self.init(.tooLarge, "a packet was too large for the broker")
        case 128...:
            self.init(.refused, "the broker ended the connection: \(String(cString: mosquitto_reason_string(reason)))")
        default: self.init(library: reason, detail: detail)
        }
    }
}
