import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepGatewayHTTP
import LockstepHTTP

/// The options of the HTTP server.
struct ServerOptions: ParsableArguments {
    static let names = ["listen", "token-file", "tls-certificate", "tls-key", "page", "max-connections"]

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

    @Option(
        name: .customLong("tls-certificate"),
        help: "PEM file with the certificate of the server and its intermediate certificates.")
    var certificate: String?

    @Option(
        name: .customLong("tls-key"), help: "PEM file with the private key of the server, readable only by its owner.")
    var key: String?

    @Option(help: "Folder with the files of the page /join (default: share/lockstep/join beside the program's folder).")
    var page: String?

    @Option(help: "Maximum number of HTTP connections (default: 1000).")
    var maxConnections: String?

    /// Returns the settings of the server, or nil without an address.
    /// - Parameter maximumPayload: the maximum size of a request body in bytes.
    func configuration(_ settings: Settings, maximumPayload: Int) throws -> GatewayServerConfiguration? {
        let users = try settings.value("token-file", tokenFile, parse: users)
        let tls = try tls(settings)
        let page = try settings.value("page", page, parse: JoinFolder.check)
        let connections = try settings.value(
            "max-connections", maxConnections, parse: { try wholeNumber($0, in: 1...100_000) })
        guard let listen = try settings.value("listen", listen, parse: address) else { return nil }
        var configuration = GatewayServerConfiguration(listen: listen)
        configuration.users = users
        configuration.tls = tls
        configuration.pageFolder = page ?? JoinFolder.find()
        configuration.limits.body = maximumPayload
        configuration.pendingBytes = max(configuration.pendingBytes, 2 * maximumPayload)
        if let connections { configuration.limits.connections = connections }
        if let problem = configuration.safetyProblem { throw CommandFailure(problem) }
        return configuration
    }

    private func address(_ text: String) throws -> ListenAddress {
        guard let address = ListenAddress(text) else {
            throw CommandFailure("'\(text)' is not an address: use 127.0.0.1:8443, [::1]:8443, 0.0.0.0:443 or 8443")
        }
        return address
    }

    private func users(_ path: String) throws -> GatewayUsers {
        try SecretFile.check(path)
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw CommandFailure("cannot read \(path) as UTF-8")
        }
        do { return try GatewayUsers(parsing: text) } catch { throw CommandFailure("\(path): \(error)") }
    }

    private func tls(_ settings: Settings) throws -> (certificateFile: String, keyFile: String)? {
        let certificate = try settings.value("tls-certificate", certificate) { $0 }
        let key = try settings.value("tls-key", key, parse: { try SecretFile.check($0) })
        switch (certificate, key) {
        case (let certificate?, let key?): return (certificate, key)
        case (nil, nil): return nil
        default: throw CommandFailure("--tls-certificate and --tls-key must be used together")
        }
    }
}

/// Raises the limit of open files to what the system allows: each connection needs one.
func raiseDescriptorLimit() {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, 65_536)
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
