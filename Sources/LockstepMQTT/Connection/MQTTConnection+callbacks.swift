import CMosquitto
import Glibc

// libmosquitto calls the callbacks from within connect, read, write and keepAlive, on the caller's thread.

extension MQTTConnection {
    func setCallbacks() {
        mosquitto_connect_v5_callback_set(handle) { _, context, reason, flags, properties in
            var size: UInt32 = 0
            if mosquitto_property_read_int32(properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), &size, false)
                != nil
            {
                MQTTConnection.from(context)?.maxPacketSize = Int(size)
            }
            var isRetainAvailable: UInt8 = 1
            mosquitto_property_read_byte(
                properties, Int32(MQTT_PROP_RETAIN_AVAILABLE.rawValue), &isRetainAvailable, false)
            MQTTConnection.from(context)?.isRetainAvailable = isRetainAvailable != 0
            var inFlight: UInt16 = 0
            if mosquitto_property_read_int16(properties, Int32(MQTT_PROP_RECEIVE_MAXIMUM.rawValue), &inFlight, false)
                != nil
            {
                MQTTConnection.from(context)?.maxInFlight = Int(inFlight)
            }
            MQTTConnection.from(context)?.didConnect(reason: reason, flags: flags)
        }
        mosquitto_disconnect_v5_callback_set(handle) { _, context, reason, _ in
            MQTTConnection.from(context)?.didDisconnect(reason: reason)
        }
        mosquitto_publish_v5_callback_set(handle) { _, context, id, reason, _ in
            MQTTConnection.from(context)?.didPublish(id: id, reason: reason)
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, context, id, count, grants, _ in
            let isGranted = count > 0 && (0..<Int(count)).allSatisfy { (grants?[$0] ?? 128) < 128 }
            MQTTConnection.from(context)?.record(.subscribed(id: id, isGranted: isGranted))
        }
        mosquitto_unsubscribe_v5_callback_set(handle) { _, context, _, _ in
            MQTTConnection.from(context)?.callbackCount += 1
        }
        mosquitto_message_v5_callback_set(handle) { _, context, message, properties in
            guard let message = message?.pointee, let topic = message.topic else { return }
            MQTTConnection.from(context)?.didReceive(
                IncomingMessage(
                    topicBytes: UnsafeRawBufferPointer(start: topic, count: strlen(topic)),
                    payload: UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen)),
                    isRetained: message.retain, needsAcknowledgement: message.qos > 0, properties: properties))
        }
        mosquitto_log_callback_set(handle) { _, context, level, text in
            guard level == Int32(MOSQ_LOG_ERR), let text else { return }
            MQTTConnection.from(context)?.didLog(String(cString: text))
        }
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> MQTTConnection? {
        context.map { Unmanaged<MQTTConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Adds an event from a callback.
    private func record(_ event: Event) {
        callbackCount += 1
        events.append(event)
    }

    private func didConnect(reason: Int32, flags: Int32) {
        callbackCount += 1
        if reason == 0 {
            isAccepted = true
            certificateExpiry = mosquitto_ssl_get(handle).flatMap(TLSLibrary.peerCertificate(of:))
                .flatMap(CertificateExpiry.microseconds(inDER:))
            // Stop logging: with a log callback, libmosquitto formats a line for every packet. The TLS causes that only
            // the log contains occur before this point.
            mosquitto_log_callback_set(handle, nil)
            events.append(.connected(sessionPresent: flags & 1 != 0))
        } else {
            end(with: MQTTError(connectReason: reason, version: options.version))
        }
    }

    private func didDisconnect(reason: Int32) {
        callbackCount += 1
        end(with: reason < 128 ? failure(reason) : MQTTError(disconnectReason: reason, detail: lastProblem))
    }

    /// Handles a logged error at once, because OpenSSL discards the details later.
    private func didLog(_ text: String) {
        lastProblem = text
        // Later errors are consequences of the first one.
        if tlsCause == nil {
            tlsCause = TLSDiagnosis.cause(of: text, host: options.address.host, session: mosquitto_ssl_get(handle))
        }
    }

    private func didPublish(id: Int32, reason: Int32) {
        // libmosquitto also reports that it has written a message with QoS 0. Its id may be that of one with QoS 1.
        guard !isWriting else { return }
        let refusal: MQTTError? =
            reason < 128
            ? nil
            : MQTTError(
                reason == 135 ? .notAuthorized : reason == 149 ? .tooLarge : .refused,
                "the broker refused a message: \(String(cString: mosquitto_reason_string(reason)))")
        record(.published(id: id, refusal: refusal))
    }

    private func didReceive(_ message: IncomingMessage) {
        callbackCount += 1
        if message.needsAcknowledgement { pendingPackets += 1 }
        if !message.isRetained { hasDelivered = true }
        onMessage?(message)
    }
}
