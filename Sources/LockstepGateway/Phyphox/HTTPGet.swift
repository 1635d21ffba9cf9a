import CCurl

/// An HTTP request with the method GET, by libcurl. It blocks its thread.
enum HTTPGet {
    /// A request without an answer that can be used.
    struct Failure: Error, CustomStringConvertible {
        /// The reason.
        let description: String
        /// Whether the answer was larger than allowed.
        var isTooLarge = false
    }

    /// The longest time to connect, and the longest time without progress, in s. The whole request has no limit: a
    /// phone that was away for long sends megabytes.
    private static let timeouts = (connect: 3, stall: 20)
    /// An answer that is slower counts as no progress, in bytes per second.
    private static let minimumSpeed = 100

    /// Libcurl must be initialised once in a process, before a second thread uses it.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private final class Body {
        var bytes: [UInt8] = []
        let limit: Int
        let isStopped: () -> Bool
        var isTooLarge = false

        init(limit: Int, isStopped: @escaping () -> Bool) {
            self.limit = limit
            self.isStopped = isStopped
        }
    }

    /// Returns the body of an answer with the status 200. Each request has a connection of its own: some phones do not
    /// answer a second one.
    /// - Parameters:
    ///   - limit: the maximum size of the body in bytes.
    ///   - isStopped: is asked before the request and at least once a second, and ends it.
    static func body(
        of url: String, limit: Int, isStopped: @escaping () -> Bool
    ) throws(Failure) -> [UInt8] {
        let stop = Failure(description: "the request was stopped")
        guard !isStopped() else { throw stop }
        guard isReady, let handle = curl_easy_init() else { throw Failure(description: "libcurl cannot start") }
        defer { curl_easy_cleanup(handle) }
        let body = Body(limit: limit, isStopped: isStopped)
        _ = url.withCString { curl_set_pointer(handle, CURLOPT_URL, $0) }
        _ = curl_set_pointer(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        _ = curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        _ = curl_set_long(handle, CURLOPT_FORBID_REUSE, 1)
        _ = curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, timeouts.connect)
        _ = curl_set_long(handle, CURLOPT_LOW_SPEED_LIMIT, minimumSpeed)
        _ = curl_set_long(handle, CURLOPT_LOW_SPEED_TIME, timeouts.stall)
        _ = curl_set_writer(
            handle,
            { bytes, size, count, context in
                guard let bytes, let context else { return 0 }
                let body = Unmanaged<Body>.fromOpaque(context).takeUnretainedValue()
                guard body.bytes.count + size * count <= body.limit else {
                    body.isTooLarge = true
                    return 0
                }
                body.bytes += UnsafeRawBufferPointer(start: bytes, count: size * count)
                return size * count
            }, Unmanaged.passUnretained(body).toOpaque())
        _ = curl_set_progress(
            handle,
            { context, _, _, _, _ in
                guard let context else { return 0 }
                return Unmanaged<Body>.fromOpaque(context).takeUnretainedValue().isStopped() ? 1 : 0
            }, Unmanaged.passUnretained(body).toOpaque())
        let code = curl_easy_perform(handle)
        return try withExtendedLifetime(body) { () throws(Failure) in
            if body.isTooLarge {
                throw Failure(description: "the answer has more than \(limit) bytes", isTooLarge: true)
            }
            guard code != CURLE_ABORTED_BY_CALLBACK else { throw stop }
            guard code == CURLE_OK else { throw Failure(description: String(cString: curl_easy_strerror(code))) }
            var status = 0
            _ = curl_get_status(handle, &status)
            guard status == 200 else { throw Failure(description: "the phone answers with status \(status)") }
            return body.bytes
        }
    }
}
