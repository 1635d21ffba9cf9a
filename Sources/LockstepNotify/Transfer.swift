import CCurl
import Glibc

/// One request of libcurl: HTTP or SMTP.
struct Transfer {
    /// The result of a request.
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

    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    /// Posts a body.
    static func post(_ body: [UInt8], to url: String, headers: [String]) -> Outcome {
        perform(url) { handle in
            _ = curl_set_pointer(handle, CURLOPT_PROTOCOLS_STR, "http,https")
            var list: UnsafeMutablePointer<curl_slist>?
            // Without this, libcurl waits for "100 Continue" before it sends a large body.
            for header in headers + ["Expect:"] { list = curl_slist_append(list, header) }
            defer { curl_slist_free_all(list) }
            _ = curl_set_pointer(handle, CURLOPT_HTTPHEADER, list)
            _ = curl_set_long(handle, CURLOPT_POST, 1)
            _ = curl_set_long(handle, CURLOPT_POSTFIELDSIZE, body.count)
            return body.withUnsafeBytes { bytes in
                _ = curl_set_pointer(handle, CURLOPT_POSTFIELDS, bytes.baseAddress)
                let code = curl_easy_perform(handle)
                guard code == CURLE_OK else { return .failed(String(cString: curl_easy_strerror(code))) }
                var status = 0
                _ = curl_get_status(handle, &status)
                var pause: curl_off_t = 0
                _ = curl_get_retry_after(handle, &pause)
                return judge(status, retryAfter: Int64(pause))
            }
        }
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
        perform(url) { handle in
            _ = curl_set_long(handle, CURLOPT_TIMEOUT, mailTimeout)
            _ = curl_set_pointer(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps")
            // A password is sent over TLS only.
            _ = curl_set_starttls(handle, password != nil)
            if let user { _ = curl_set_pointer(handle, CURLOPT_USERNAME, user) }
            if let password { _ = curl_set_pointer(handle, CURLOPT_PASSWORD, password) }
            _ = curl_set_pointer(handle, CURLOPT_MAIL_FROM, "<\(from)>")
            let list = curl_slist_append(nil, "<\(recipient)>")
            defer { curl_slist_free_all(list) }
            _ = curl_set_pointer(handle, CURLOPT_MAIL_RCPT, list)
            _ = curl_set_long(handle, CURLOPT_UPLOAD, 1)
            var upload = Upload(rest: text[...])
            let replies = Replies()
            _ = curl_set_header_reader(
                handle,
                { bytes, size, count, context in
                    guard let bytes, let context else { return 0 }
                    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                    Unmanaged<Replies>.fromOpaque(context).takeUnretainedValue().value.add(line)
                    return size * count
                }, Unmanaged.passUnretained(replies).toOpaque())
            return withUnsafeMutablePointer(to: &upload) { pointer in
                let reader:
                    @convention(c) (
                        UnsafeMutablePointer<CChar>?, Int, Int, UnsafeMutableRawPointer?
                    ) -> Int = { target, size, count, context in
                        guard let target, let upload = context?.assumingMemoryBound(to: Upload.self) else { return 0 }
                        let part = upload.pointee.rest.prefix(size * count)
                        upload.pointee.rest = upload.pointee.rest.dropFirst(part.count)
                        part.withUnsafeBytes { bytes in
                            if let base = bytes.baseAddress { memcpy(target, base, bytes.count) }
                        }
                        return part.count
                    }
                _ = curl_set_reader(handle, reader, pointer)
                let code = withExtendedLifetime(replies) { curl_easy_perform(handle) }
                guard code != CURLE_OK else { return .success }
                return replies.value.outcome(isLogin: code == CURLE_LOGIN_DENIED)
                    ?? .failed(String(cString: curl_easy_strerror(code)))
            }
        }
    }

    private struct Upload {
        var rest: ArraySlice<UInt8>
    }

    private final class Replies {
        var value = MailReplies()
    }

    private static func perform(_ url: String, _ body: (UnsafeMutableRawPointer) -> Outcome) -> Outcome {
        guard isReady, let handle = curl_easy_init() else { return .failed("libcurl cannot start") }
        defer { curl_easy_cleanup(handle) }
        _ = curl_set_pointer(handle, CURLOPT_URL, url)
        _ = curl_set_long(handle, CURLOPT_TIMEOUT, timeout)
        _ = curl_set_long(handle, CURLOPT_CONNECTTIMEOUT, timeout)
        _ = curl_set_long(handle, CURLOPT_NOSIGNAL, 1)
        // The answer is not needed.
        _ = curl_set_writer(handle, { _, size, count, _ in size * count }, nil)
        return body(handle)
    }
}
