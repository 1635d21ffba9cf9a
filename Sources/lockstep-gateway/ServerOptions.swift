import ArgumentParser
import LockstepCommandLine
import LockstepHTTP

/// The options of the HTTP server.
struct ServerOptions: ParsableArguments {
    static let names = ["listen", "token-file", "page", "max-connections", "trusted-proxy"] + CertificateOptions.names

    static let page = PageFolder(installed: "join", source: "Sources/LockstepGateway/Page")

    @Option(
        help: """
            Address and port for HTTP, or only a port of 127.0.0.1 (default: none, only MQTT). Other addresses than \
            those of this machine itself require --token-file.
            """)
    var listen: String?

    @Option(
        help: """
            File with lines 'USER TOKEN' of those who may send by HTTP, readable only by its owner (default: none, \
            everyone on this machine). The token is also the password of basic authentication.
            """)
    var tokenFile: String?

    @OptionGroup var certificate: CertificateOptions

    @Option(help: "Folder with the files of the page /join (default: share/lockstep/join beside the program's folder).")
    var page: String?

    @Option(help: "Maximum number of HTTP connections, a quarter of them for one address (default: 1000).")
    var maxConnections: String?

    @Option(
        help: """
            Addresses or networks of reverse proxies, such as 127.0.0.1,10.1.0.0/16, whose field X-Forwarded-For names \
            the client for limits by address (default: none).
            """)
    var trustedProxy: String?

    /// Returns the settings of the server, or nil without an address.
    /// - Parameter maximumPayload: the maximum size of a request body in bytes.
    func configuration(_ settings: Settings, maximumPayload: Int) throws -> GatewayServerConfiguration? {
        let users = try settings.value("token-file", tokenFile, parse: users)
        let tls = try certificate.files(settings)
        let page = try settings.value("page", page, parse: PageFolder.check)
        let connections = try settings.value(
            "max-connections", maxConnections, parse: { try wholeNumber($0, in: 1...100_000) })
        let proxies = try settings.value("trusted-proxy", trustedProxy, parse: proxies)
        guard let listen = try settings.value("listen", listen, parse: address) else { return nil }
        var configuration = GatewayServerConfiguration(listen: listen)
        configuration.users = users
        configuration.tls = tls
        configuration.pageFolder = page ?? Self.page.find()
        configuration.limits.body = maximumPayload
        configuration.pendingBytes = max(configuration.pendingBytes, 2 * maximumPayload)
        if let connections { configuration.limits.connections = connections }
        if let proxies { configuration.limits.trustedProxies = proxies }
        if let problem = configuration.safetyProblem { throw CommandFailure(problem) }
        return configuration
    }

    private func address(_ text: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw CommandFailure("'\(text)' is not an address: use 127.0.0.1:8443, [::1]:8443, 0.0.0.0:443 or 8443")
        }
        return address
    }

    private func proxies(_ text: String) throws -> TrustedProxies {
        guard let proxies = TrustedProxies(text) else {
            throw CommandFailure("'\(text)' is not a list of addresses: use 127.0.0.1,10.1.0.0/16")
        }
        return proxies
    }

    private func users(_ path: String) throws -> GatewayUsers {
        try SecretFile.check(path)
        let text = try TextFile.read(path, "the tokens")
        do { return try GatewayUsers(parsing: text) } catch { throw CommandFailure("\(path): \(error)") }
    }
}
