import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSystem

struct CertsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "certs",
        abstract: "Create certificates and settings of a secured broker, its devices and servers.",
        discussion: """
            Valid files are kept: run a command again to renew what expires within 30 days, or with other options. \
            Settings that you have changed are kept as well; the new version is written to FILE.new. Keys and passwords \
            are readable only by their owner.

            EXAMPLES
              lockstep certs broker --host broker.example
              lockstep certs device arm-left --group lab
              lockstep certs web page.example 192.168.1.5
            """,
        subcommands: [CertsBrokerCommand.self, CertsDeviceCommand.self, CertsWebCommand.self, CertsUserCommand.self])
}

struct CertificateOptions: ParsableArguments {
    @Option(name: .customLong("certs"), help: "Folder of the authority and its certificates.")
    var folder = "secure"

    @Option(
        help: "Validity of new certificates in days, 1 to 3650; the authority is valid for ten years.")
    var days = 825

    func validate() throws {
        guard (1...3650).contains(days) else {
            throw ValidationError("--days takes a whole number from 1 to 3650, not '\(days)'")
        }
    }

    /// Returns the folder. It is created with an authority if it has none and the command is the first one to use.
    func open(creating: Bool) throws -> CertificateFolder {
        guard creating || access(folder + "/ca.pem", R_OK) == 0 else {
            throw CommandFailure(
                "cannot read \(folder)/ca.pem: run 'lockstep certs broker --certs \(folder)' first, or name its folder "
                    + "with --certs")
        }
        let certificates = try CertificateFolder(folder, days: days)
        if creating { try certificates.makeAuthority() }
        return certificates
    }
}

struct CertsBrokerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "broker",
        abstract: "Create an authority, and the certificates and settings of a broker and its users.",
        usage: "lockstep certs broker [--host <host> ...] [<options>]",
        discussion: """
            Creates certificates for six users: the broker, the collector, a reader (may only read), an operator (may \
            also send commands), lockstep-serve and lockstep-gateway.

              ca.pem             certificate of the authority; every program needs it
              ca.key             private key of the authority; keep it safe, and not on the broker's machine
              NAME.pem NAME.key  certificate and key of each user
              NAME.client-id     secret part of the client ids of collectors and gateways, which stays the same
              NAME.yaml          settings of each program, such as lockstep-collector --config collector.yaml
              mosquitto.conf     configuration of the broker with the paths of this folder
              production.acl     access rules

            If run as root, the broker's key is owned by the user mosquitto, if that exists.
            """)

    @OptionGroup var options: CertificateOptions

    @Option(
        name: .customLong("host"),
        help: """
            A host name or IP address of the broker, as clients use it; may be repeated (default: the names of the \
            previous run, or this machine's name). localhost, 127.0.0.1 and ::1 are always included.
            """)
    var hosts: [String] = []

    @Flag(help: "Add a second port, 8884, for clients that use a password instead of a certificate.")
    var passwords = false

    func run() throws {
        try CertificateFolder.check(hosts: hosts, option: "--host")
        let certificates = try options.open(creating: true)
        let folder = certificates.path
        let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@:,=-")
        guard folder.allSatisfy(allowed.contains) else {
            throw CommandFailure(
                "mosquitto.conf does not support the folder name \(folder): choose one without spaces or special "
                    + "characters")
        }
        let names = try rememberedHosts(in: certificates)
        try certificates.issue(
            folder + "/broker", name: "Lockstep broker", for: .broker, hosts: names + ["localhost", "127.0.0.1", "::1"])
        let users = ["collector", "reader", "operator", "serve", "gateway"]
        for user in users { try certificates.issue("\(folder)/\(user)", name: user, for: .client) }
        for user in ["collector", "gateway"] { try certificates.makeSecret("\(folder)/\(user).client-id") }
        try writeBrokerSettings(certificates)
        for user in users {
            var text = """
                broker: mqtts://\(names[0].contains(":") ? "[\(names[0])]" : names[0])
                ca-file: \(folder)/ca.pem
                cert-file: \(folder)/\(user).pem
                key-file: \(folder)/\(user).key

                """
            let identifier = "\(folder)/\(user).client-id"
            // The other programs choose a random client id at each start.
            if access(identifier, F_OK) == 0 { text += "client-id-file: \(identifier)\n" }
            try certificates.writeSettings(text, to: "\(folder)/\(user).yaml")
        }
        Terminal.output.write(
            """

            Start the broker:     mosquitto -c \(folder)/mosquitto.conf
            Start the collector:  lockstep-collector --config \(folder)/collector.yaml --store sqlite:samples.db
            Add a device:         lockstep certs device NAME --certs \(folder)

            """)
    }

    private func rememberedHosts(in certificates: CertificateFolder) throws -> [String] {
        let file = certificates.path + "/hosts"
        var names = hosts
        if names.isEmpty, let text = try? String(contentsOfFile: file, encoding: .utf8) {
            names = text.split(separator: "\n").map(String.init)
        }
        if names.isEmpty { names = [OwnAddress.name] }
        try certificates.write(names.joined(separator: "\n") + "\n", to: file)
        return names
    }

    private func writeBrokerSettings(_ certificates: CertificateFolder) throws {
        let folder = certificates.path
        let data = try CertificateFolder.create(folder + "/data", mode: 0o700)
        try certificates.writeSettings(try Self.shipped("production.acl"), to: folder + "/production.acl")
        let passwordFile = folder + "/passwords"
        // Passwords stay enabled once they were requested.
        let hasPasswords = passwords || access(passwordFile, F_OK) == 0
        if hasPasswords, access(passwordFile, F_OK) != 0 {
            try certificates.write("", to: passwordFile, isSecret: true)
        }
        let text = try Self.shipped("production.conf").split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                let isOption = line.first == "#" && line.dropFirst().first?.isLowercase == true
                return (hasPasswords && isOption ? line.dropFirst() : line)
                    .replacing("/etc/mosquitto/lockstep", with: folder).replacing(
                        "/var/lib/mosquitto/", with: data + "/")
            }.joined(separator: "\n")
        try certificates.writeSettings(text, to: folder + "/mosquitto.conf")
        guard geteuid() == 0, let user = getpwnam("mosquitto") else { return }
        for file in [folder + "/broker.key", data] + (hasPasswords ? [passwordFile] : []) {
            chown(file, user.pointee.pw_uid, gid_t.max)
        }
    }

    /// Returns a file of the configuration of the broker that is installed with this program.
    private static func shipped(_ name: String) throws -> String {
        guard let path = ProgramLocation.file(installed: "broker/\(name)", source: "broker-config/\(name)"),
            let text = try? String(contentsOfFile: path, encoding: .utf8)
        else { throw CommandFailure("share/lockstep/broker/\(name) is missing: install Lockstep again") }
        return text
    }
}

struct CertsWebCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "web", abstract: "Create the certificate of the servers of page and gateway.",
        discussion: """
            Creates web.pem and web.key, and an authority if the folder has none. Browsers and phones must trust the \
            authority, ca.pem; for phones see docs/join.md.
            """)

    @OptionGroup var options: CertificateOptions

    @Argument(help: "Host names and IP addresses of the servers, as browsers use them.")
    var hosts: [String]

    func run() throws {
        try CertificateFolder.check(hosts: hosts, option: "web")
        let certificates = try options.open(creating: true)
        let file = certificates.path + "/web"
        try certificates.issue(file, name: hosts[0], for: .server, hosts: hosts)
        let host = hosts[0].contains(":") ? "[\(hosts[0])]" : hosts[0]
        let tls = "--server-cert-file \(file).pem --server-key-file \(file).key"
        Terminal.output.write(
            """

            Page:     lockstep-serve --listen 0.0.0.0:8444 --token-file TOKENS \(tls) …
            Gateway:  lockstep-gateway --listen 0.0.0.0:8443 --users-file USERS \(tls) --authority-file \(certificates.authority) …
            Phones:   https://\(host):8443/ca.pem to trust the authority, then https://\(host):8443/join

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
        guard DeviceID(rawValue: name) != nil else {
            throw CommandFailure("'\(name)' is not a valid name: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
        }
        guard !["ca", "broker", "web"].contains(name) else {
            throw CommandFailure("'\(name)' is the name of another certificate of the folder: choose another name")
        }
        let certificates = try options.open(creating: false)
        try certificates.issue("\(certificates.path)/\(name)", name: name, for: .client)
    }
}
