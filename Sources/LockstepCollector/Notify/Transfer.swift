import CCurl
import LockstepTransfer

/// One request of libcurl: HTTP or SMTP.
struct Transfer {
    enum Outcome: Equatable {
        case success
        /// The request failed; a later attempt may succeed, but not before the pause that the receiver asks for, in µs.
        case failed(String, pause: Int64 = 0)
        /// The receiver will never accept this request.
        case refused(String)
    }

    /// The longest time of an HTTP request, in s.
    private static let timeout = 10
    /// The longest time of an e-mail, in s. A server that was interrupted after it has accepted the message would get it
    /// again, and RFC 5321 allows it ten minutes.
    private static let mailTimeout = 600

    static func post(_ body: [UInt8], to url: String, headers: [String]) -> Outcome {
        do throws(CurlError) {
            let request = try request(url, timeout: timeout)
            try request.set(CURLOPT_PROTOCOLS_STR, "http,https")
            // Without this, libcurl waits for "100 Continue" before it sends a large body.
            try request.set(CURLOPT_HTTPHEADER, headers + ["Expect:"])
            try request.set(CURLOPT_POST, 1)
            try body.withUnsafeBytes { bytes in
                Result { () throws(CurlError) in
                    try request.setBody(bytes)
                    try request.perform()
                }
            }.get()
            var pause: curl_off_t = 0
            _ = curl_get_retry_after(request.pointer, &pause)
            return judge(request.status, retryAfter: Int64(pause))
        } catch { return .failed(error.description) }
    }

    /// Returns what a status of HTTP means for further attempts.
    /// - Parameter retryAfter: the value of the header `Retry-After` in s, or 0 without it.
    static func judge(_ status: Int, retryAfter: Int64 = 0) -> Outcome {
        let pause = min(max(0, retryAfter), 1 << 32) * 1_000_000
        return switch status {
        case 200...299: .success
        case 400, 410, 413, 422: .refused("the server answered with status \(status)")
        default: .failed("the server answered with status \(status)", pause: pause)
        }
    }

    /// Sends a message to one recipient by SMTP, with TLS if the server offers it.
    static func mail(_ text: [UInt8], url: String, from: String, to recipient: String, user: String?, password: String?)
        -> Outcome
    {
        var replies = MailReplies()
        do throws(CurlError) {
            let request = try request(url, timeout: mailTimeout)
            try request.set(CURLOPT_PROTOCOLS_STR, "smtp,smtps")
            // A password is sent over TLS only.
            try request.check(curl_set_starttls(request.pointer, password != nil))
            if let user { try request.set(CURLOPT_USERNAME, user) }
            if let password { try request.set(CURLOPT_PASSWORD, password) }
            try request.set(CURLOPT_MAIL_FROM, "<\(from)>")
            try request.set(CURLOPT_MAIL_RCPT, ["<\(recipient)>"])
            try request.setUpload(text)
            try request.forEachLine { replies.add($0) }
            try request.perform()
            return .success
        } catch {
            return replies.outcome(isLogin: error.code == CURLE_LOGIN_DENIED) ?? .failed(error.description)
        }
    }

    private static func request(_ url: String, timeout limit: Int) throws(CurlError) -> CurlHandle {
        let request = try CurlHandle()
        try request.set(CURLOPT_URL, url)
        try request.set(CURLOPT_TIMEOUT, limit)
        try request.set(CURLOPT_CONNECTTIMEOUT, timeout)
        return request
    }
}
