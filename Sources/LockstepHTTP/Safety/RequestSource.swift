/// The facts that show which page of a browser sent a request.
package struct RequestSource: Hashable, Sendable {
    /// The field `Host`.
    package var host: String?
    /// The field `Origin`.
    package var origin: String?
    /// The field `Sec-Fetch-Site`.
    package var fetchSite: String?
    /// The field `Sec-Fetch-Mode`.
    package var fetchMode: String?

    package init(host: String?, origin: String? = nil, fetchSite: String? = nil, fetchMode: String? = nil) {
        self.host = host
        self.origin = origin
        self.fetchSite = fetchSite
        self.fetchMode = fetchMode
    }

    /// Checks that no other site sent the request through the user's browser.
    ///
    /// Without credentials, every request from this machine has all rights. A page of another site must not be able to
    /// make such requests: not under its own name (cross-site requests, seen by `Origin` and `Sec-Fetch-Site`), and not
    /// by a name of its own that resolves to this address (DNS rebinding, seen by `Host`).
    /// - Parameters:
    ///   - isOpen: whether the server needs no credentials, and listens on loopback only.
    ///   - usesTLS: whether clients connect with TLS.
    /// - Throws: ``Problem`` if it must be refused.
    package func check(isOpen: Bool, usesTLS: Bool) throws(Problem) {
        guard let host = host.flatMap(HostName.init) else {
            throw .badRequest("the request has no valid field 'Host'")
        }
        if isOpen, !host.isLoopback {
            throw Problem(
                status: 421, title: "Misdirected request",
                detail: "the server listens on loopback only and has no tokens, so it does not answer for "
                    + "'\(host.name.prefix(80))': use http://127.0.0.1 or http://localhost")
        }
        // Behind a proxy that terminates TLS, the scheme of the page differs from that of the server.
        let origins =
            isOpen
            ? ["\(usesTLS ? "https" : "http")://\(host.text)"]
            : ["https://\(host.text)", "http://\(host.text)"]
        if let origin, !origins.contains(origin.lowercased()) {
            throw .forbidden("the request comes from a page of '\(origin.prefix(80))': use the page of this server")
        }
        // Browsers send no Origin with simple GET requests, such as those of an image.
        if let site = fetchSite, !["same-origin", "none"].contains(site), fetchMode != "navigate" {
            throw .forbidden("the request comes from a page of another site: use the page of this server")
        }
    }
}
