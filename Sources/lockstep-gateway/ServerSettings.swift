import LockstepCommandLine
import LockstepHTTP

struct ServerSettings: SettingGroup {
    let listen = Setting(
        "listen",
        """
        Address and port for HTTP, or only a port of 127.0.0.1 (default: none, only MQTT). Other addresses than \
        those of this machine itself require --users-file.
        """, listenAddress)
    let usersFile = Setting.file(
        "users-file",
        """
        File with lines 'USER TOKEN' of those who may send by HTTP, readable only by its owner (default: none, \
        everyone on this machine). The token is also the password of basic authentication.
        """, gatewayUsers)
    let certificate = CertificateSettings()
    let authority = Setting.file(
        "authority-file",
        """
        PEM file with the certificate of the authority that signed --server-cert-file. Phones download it at /ca.pem to \
        trust the server (default: none).
        """, AuthorityFile.read)
    let page = Setting(
        "page",
        "Folder with the files of the page /join (default: share/lockstep/join beside the program's folder).",
        PageFolder.check)
    let maxConnections = Setting(
        "max-connections",
        "Maximum number of HTTP connections, a quarter of them for one address (default: 1000)."
    ) { try wholeNumber($0, in: 1...100_000) }
    let trustedProxy = Setting(
        "trusted-proxy",
        """
        Addresses or networks of reverse proxies, such as 127.0.0.1,10.1.0.0/16, whose field X-Forwarded-For names \
        the client for limits by address (default: none).
        """, trustedProxies)
}

extension Options<ServerSettings> {
    /// Returns the settings of the server, or nil without an address.
    /// - Parameter maxPayload: the maximum size of a request body in bytes.
    func configuration(_ settings: Settings, maxPayload: Int) throws -> GatewayServerConfiguration? {
        let users = try settings.value(self.usersFile)
        let tls = try self.certificate.files(settings)
        let authority = try settings.value(self.authority)
        let page = try settings.value(self.page)
        let connections = try settings.value(self.maxConnections)
        let proxies = try settings.value(self.trustedProxy)
        guard let listen = try settings.value(self.listen) else { return nil }
        var configuration = GatewayServerConfiguration(listen: listen)
        configuration.users = users
        configuration.tls = tls
        configuration.authority = authority
        configuration.pageFolder = page ?? PageFolder.find(installed: "join", source: "Sources/LockstepGateway/Page")
        configuration.limits.body = maxPayload
        configuration.pendingBytes = max(configuration.pendingBytes, 2 * maxPayload)
        if let connections { configuration.limits.connections = connections }
        if let proxies { configuration.limits.trustedProxies = proxies }
        if let problem = configuration.safetyProblem { throw CommandFailure(problem) }
        return configuration
    }
}

/// A file that everyone may download.
private enum AuthorityFile {
    static func read(_ path: String) throws -> [UInt8] {
        let text = try TextFile.read(path, "the certificate of the authority")
        guard text.contains("-----BEGIN CERTIFICATE-----"), !text.contains("PRIVATE KEY") else {
            throw CommandFailure("\(path) is not the certificate of an authority alone: give ca.pem, and never a key")
        }
        return Array(text.utf8)
    }
}

private func listenAddress(_ text: String) throws -> ListenAddress {
    guard let address = ListenAddress(text) else {
        throw CommandFailure("'\(text)' is not an address: use 127.0.0.1:8443, [::1]:8443, 0.0.0.0:443 or 8443")
    }
    return address
}

private func trustedProxies(_ text: String) throws -> TrustedProxies {
    guard let proxies = TrustedProxies(text) else {
        throw CommandFailure("'\(text)' is not a list of addresses: use 127.0.0.1,10.1.0.0/16")
    }
    return proxies
}

private func gatewayUsers(_ path: String) throws -> GatewayUsers {
    try SecretFile.check(path)
    let text = try TextFile.read(path, "the tokens")
    do { return try GatewayUsers(parsing: text) } catch { throw CommandFailure("\(path): \(error)") }
}
