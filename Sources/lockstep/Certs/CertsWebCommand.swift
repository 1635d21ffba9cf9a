import ArgumentParser
import FoundationEssentials
import LockstepCommandLine

struct CertsWebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Create the certificate of the servers of page and gateway.",
        discussion: """
            Creates web.pem and web.key, and an authority if the folder has none. Browsers and phones must trust the \
            authority: install ca.pem on them, see docs/join.md.
            """)

    @OptionGroup var options: CertificateOptions

    @Argument(help: "Host names and IP addresses of the servers, as browsers use them.")
    var hosts: [String]

    func run() throws {
        try CertificateFolder.check(hosts: hosts, option: "web")
        let certificates = try options.open(creating: true)
        let file = certificates.path + "/web"
        try certificates.issue(file, name: hosts[0], for: .server, hosts: hosts)
        let tls = "--tls-certificate \(file).pem --tls-key \(file).key"
        Terminal.output.write(
            """

            Page:     lockstep-serve --listen 0.0.0.0:8443 \(tls) …
            Gateway:  lockstep-gateway --listen 0.0.0.0:8444 \(tls) …
            Phones:   install \(certificates.authority)

            """)
    }
}

struct CertsUserCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "Create the certificate of another user of the broker, such as a phone.",
        discussion: "Its rights are those of its name in production.acl: see docs/security.md.")

    @OptionGroup var options: CertificateOptions

    @Argument(help: "The user name.")
    var name: String

    func run() throws {
        guard CertsDeviceCommand.isValid(name) else {
            throw CommandFailure("'\(name)' is not a valid name: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
        }
        guard !["ca", "broker", "web"].contains(name) else {
            throw CommandFailure("'\(name)' is the name of another certificate of the folder: choose another name")
        }
        let certificates = try options.open(creating: false)
        try certificates.issue("\(certificates.path)/\(name)", name: name, for: .client)
    }
}
