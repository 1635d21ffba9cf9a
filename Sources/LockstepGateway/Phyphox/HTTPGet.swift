import CCurl
import LockstepTransfer

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
        let request: CurlHandle
        do throws(CurlError) {
            request = try CurlHandle()
            try request.set(CURLOPT_URL, url)
            try request.set(CURLOPT_PROTOCOLS_STR, "http,https")
            try request.set(CURLOPT_FORBID_REUSE, 1)
            try request.set(CURLOPT_CONNECTTIMEOUT, timeouts.connect)
            try request.set(CURLOPT_LOW_SPEED_LIMIT, minimumSpeed)
            try request.set(CURLOPT_LOW_SPEED_TIME, timeouts.stall)
            try request.stop(when: isStopped)
        } catch { throw Failure(description: error.description) }
        request.keepBody(limit: limit)
        do { try request.perform() } catch {
            if request.isTooLarge {
                throw Failure(description: "the answer has more than \(limit) bytes", isTooLarge: true)
            }
            throw error.code == CURLE_ABORTED_BY_CALLBACK ? stop : Failure(description: error.description)
        }
        guard request.status == 200 else {
            throw Failure(description: "the phone answers with status \(request.status)")
        }
        return request.received
    }
}
