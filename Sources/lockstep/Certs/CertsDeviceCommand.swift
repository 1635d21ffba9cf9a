import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSystem

struct CertsDeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Create the credentials and settings of a device.",
        usage: "lockstep certs device [<options>] <name>",
        discussion: """
            Creates a folder with the device's certificate, key and settings, and prints the command that starts its \
            agent. The user name of a device is GROUP/NAME. The device needs only this folder; no other machine needs \
            its key or password. The paths in agent.yaml are relative to that file.

            To revoke the rights of a device, add two lines to production.acl; see the comments there. A NATS cluster \
            needs an entry for each device: copy that of lab/arm-left in nats/common.conf with all its lines. Without \
            allowed_connection_types, the device could read the messages of all other devices.
            """)

    @OptionGroup var options: CertificateOptions

    @Option(help: "The group of the device.")
    var group = GroupID.standard.rawValue

    @Option(
        help: "The broker's address as the device reaches it (default: mqtts:// and the first --host of the broker).")
    var broker: String?

    @Option(help: "The folder to create (default: devices/GROUP/NAME in the folder of the certificates).")
    var out: String?

    @Flag(
        help: """
            Create a password instead of a certificate, for the second port of 'lockstep certs broker --passwords'. An \
            existing password is kept: remove the file 'password' to get a new one.
            """)
    var password = false

    @Argument(help: "The name of the device.")
    var name: String

    func run() throws {
        for part in [group, name] {
            guard DeviceID(rawValue: part) != nil else {
                throw CommandFailure("'\(part)' is not a valid name: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
            }
            // Names are also used as folder names.
            guard part != ".", part != ".." else { throw CommandFailure("'\(part)' cannot be used as a folder name") }
        }
        // The access rules deny these names, see production.acl.
        guard !["x", "motion", "command", "clock"].contains(name) else {
            throw CommandFailure("'\(name)' cannot be the name of a device: it is part of channels")
        }
        let certificates = try options.open(creating: false)
        let address = try brokerAddress(certificates)
        let folder = try CertificateFolder.create(
            out ?? "\(certificates.path)/devices/\(group)/\(name)", mode: 0o700)
        var settings = """
            broker: \(address)
            group: \(group)
            device: '\(name)'
            ca-file: ca.pem
            client-id-file: client-id

            """
        if password {
            try addPassword(certificates, folder)
            settings += "user: \(group)/\(name)\npassword-file: password\n"
        } else {
            try certificates.issue(folder + "/device", name: "\(group)/\(name)", for: .client)
            settings += "cert-file: device.pem\nkey-file: device.key\n"
        }
        try certificates.makeSecret(folder + "/client-id")
        try certificates.write(
            try String(contentsOfFile: certificates.authority, encoding: .utf8), to: folder + "/ca.pem")
        try certificates.writeSettings(settings, to: folder + "/agent.yaml")
        Terminal.output.write(
            """

            If the device is another machine, copy the folder to it. Start its agent with:

            cd '\(folder.escaping(["'": "'\\''"]))' && lockstep-agent --config agent.yaml --source iio

            """)
    }

    private func brokerAddress(_ certificates: CertificateFolder) throws -> String {
        if let broker {
            guard broker.hasPrefix("mqtts://"), !broker.contains("@") else {
                throw CommandFailure("--broker takes mqtts://HOST[:PORT] without a user or password, not '\(broker)'")
            }
            return broker
        }
        let file = certificates.path + "/hosts"
        guard let host = try? String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").first else {
            throw CommandFailure("cannot read \(file): name the broker with --broker")
        }
        return "mqtts://" + (host.contains(":") ? "[\(host)]" : "\(host)") + (password ? ":8884" : "")
    }

    /// Creates a password for the device and adds its hash to the broker's password file.
    private func addPassword(_ certificates: CertificateFolder, _ folder: String) throws {
        let passwords = certificates.path + "/passwords"
        let user = "\(group)/\(name)"
        guard let known = try? String(contentsOfFile: passwords, encoding: .utf8) else {
            throw CommandFailure(
                "this broker does not accept passwords: run 'lockstep certs broker --certs \(certificates.path) "
                    + "--passwords' first")
        }
        guard let program = ProgramLocation.system("mosquitto_passwd") else {
            throw CommandFailure("mosquitto_passwd is not installed: install the package mosquitto")
        }
        let lines = known.split(separator: "\n")
        let file = folder + "/password"
        if access(file, F_OK) == 0, lines.contains(where: { $0.hasPrefix(user + ":") }) {
            return certificates.report("kept   \(file)")
        }
        unlink(file)
        var quiet = certificates
        quiet.report = { _ in }
        try quiet.makeSecret(file, bytes: 24)
        let secret = try String(contentsOfFile: file, encoding: .utf8)
        // Passed through a file, because arguments are visible in the process list.
        let hash = folder + "/hash.new"
        try certificates.write("\(user):\(secret)", to: hash, isSecret: true)
        defer { unlink(hash) }
        let run = try RunningProgram(program, ["-U", hash])
        guard run.waitForEnd() == 0 else { throw CommandFailure("mosquitto_passwd failed: \(run.text)") }
        let others = lines.filter { !$0.hasPrefix(user + ":") }.map { $0 + "\n" }.joined()
        try certificates.write(others + String(contentsOfFile: hash, encoding: .utf8), to: passwords, isSecret: true)
        certificates.report("made   \(file); send SIGHUP to the broker to reload its passwords")
    }
}
