import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepModel
import LockstepSystem

/// A folder with a certificate authority, and the certificates that it has signed. `openssl` makes them.
struct CertificateFolder {
    /// The absolute path.
    let path: String
    /// The validity of new certificates in days. The authority is valid for ten years.
    var days = 825
    /// Called for each file that was made or kept.
    var report: (String) -> Void = { Terminal.output.write($0 + "\n") }
    private let openssl: String

    /// Certificates that expire within 30 days are made again.
    private static let renewal = "2592000"

    enum Use: String {
        case client = "clientAuth"
        case server = "serverAuth"
        /// Nodes of a NATS cluster also connect to each other.
        case broker = "serverAuth,clientAuth"
    }

    /// Creates the folder if it does not exist.
    /// - Throws: ``CommandFailure``.
    init(_ path: String, days: Int = 825) throws {
        guard let openssl = ProgramLocation.system("openssl") else {
            throw CommandFailure("openssl is not installed: run 'sudo apt-get install openssl'")
        }
        self.openssl = openssl
        self.path = try Self.create(path)
        self.days = days
    }

    /// The path of the authority's certificate, which every program needs.
    var authority: String { path + "/ca.pem" }
    private var authorityKey: String { path + "/ca.key" }

    // MARK: - Authority

    /// Creates the authority, unless the folder has a valid one.
    func makeAuthority() throws {
        if exists(authority) {
            guard isCurrent(authority) else {
                throw CommandFailure(
                    "\(authority) is not a certificate or expires within 30 days: start again in another folder, and give "
                        + "every program the new ca.pem")
            }
            return
        }
        guard !exists(authorityKey) else {
            throw CommandFailure("\(path) has ca.key but no ca.pem: restore ca.pem, or start again in another folder")
        }
        try makeKey(authorityKey + ".new")
        try run(
            "req", "-x509", "-new", "-key", authorityKey + ".new", "-sha256", "-days", "3650", "-subj",
            "/CN=Lockstep authority", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext",
            "keyUsage=critical,keyCertSign,cRLSign", "-out", authority + ".new")
        try move(authorityKey + ".new", authorityKey)
        try move(authority + ".new", authority)
        report("made   \(authority)")
    }

    // MARK: - Certificates

    /// Creates `FILE.pem` and `FILE.key`, unless they are valid.
    /// - Parameters:
    ///   - file: the path without `.pem` and `.key`.
    ///   - name: the common name, which is the user name at the broker.
    ///   - hosts: names and addresses of a server.
    func issue(_ file: String, name: String, for use: Use, hosts: [String] = []) throws {
        guard name.utf8.count <= 64 else {
            throw CommandFailure(
                "'\(name)' has \(name.utf8.count) characters, but the name in a certificate can have at most 64: choose a "
                    + "shorter name, or use --password")
        }
        let names = Self.alternativeNames(hosts)
        if isValid(file, name: name, names: names) { return report("kept   \(file).pem") }
        guard access(authorityKey, R_OK) == 0 else {
            throw CommandFailure("cannot read \(authorityKey), the authority's key, which has to sign \(file).pem")
        }
        try makeKey(file + ".key.new")
        // openssl separates the parts of a subject with slashes.
        try run(
            "req", "-new", "-key", file + ".key.new", "-sha256", "-subj", "/CN=" + name.replacing("/", with: "\\/"),
            "-out", file + ".request")
        var extensions = "basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\n"
        extensions += "extendedKeyUsage=\(use.rawValue)\n"
        if !names.isEmpty { extensions += "subjectAltName=\(names.joined(separator: ","))\n" }
        try write(extensions, to: file + ".extensions")
        try run(
            "x509", "-req", "-in", file + ".request", "-CA", authority, "-CAkey", authorityKey, "-set_serial",
            "0x" + randomHex(bytes: 16), "-sha256", "-days", "\(days)", "-extfile", file + ".extensions", "-out",
            file + ".pem.new")
        try move(file + ".key.new", file + ".key")
        try move(file + ".pem.new", file + ".pem")
        unlink(file + ".request")
        unlink(file + ".extensions")
        report("made   \(file).pem, valid for \(days) days")
    }

    /// Creates a file with a secret, unless it exists.
    func makeSecret(_ file: String, bytes: Int = 16, prefix: String = "") throws {
        if let text = try? String(contentsOfFile: file, encoding: .utf8), !text.isEmpty {
            return report("kept   \(file)")
        }
        try write(prefix + randomHex(bytes: bytes) + "\n", to: file + ".new", isSecret: true)
        try move(file + ".new", file)
        report("made   \(file)")
    }

    /// Whether certificate and key belong together, are signed by the authority, carry these names, and do not expire soon.
    private func isValid(_ file: String, name: String, names: [String]) -> Bool {
        func text(_ arguments: String...) -> String? { try? output(arguments) }
        guard access(file + ".pem", R_OK) == 0, access(file + ".key", R_OK) == 0, isCurrent(file + ".pem"),
            text("verify", "-CAfile", authority, file + ".pem") != nil,
            let own = text("x509", "-in", file + ".pem", "-noout", "-pubkey"),
            own == text("pkey", "-in", file + ".key", "-pubout"),
            let subject = text("x509", "-in", file + ".pem", "-noout", "-subject", "-nameopt", "multiline")
        else { return false }
        let common = subject.split(separator: "\n").first { $0.contains("commonName") }?
            .split(separator: "=", maxSplits: 1).last
        guard common.map({ $0.drop { $0 == " " } }) == name[...] else { return false }
        let found = text("x509", "-in", file + ".pem", "-noout", "-ext", "subjectAltName") ?? ""
        let line = found.split(separator: "\n").first { $0.contains("DNS:") || $0.contains("IP Address:") } ?? ""
        let entries = line.replacing("IP Address:", with: "IP:").split(separator: ",").map { $0.drop { $0 == " " } }
        return entries.map(String.init) == names
    }

    private func isCurrent(_ certificate: String) -> Bool {
        (try? output(["x509", "-in", certificate, "-noout", "-checkend", Self.renewal])) != nil
    }

    /// Returns names in the format of openssl, without duplicates.
    static func alternativeNames(_ hosts: [String]) -> [String] {
        var names: [String] = []
        for host in hosts {
            let name = longAddress(host).map { "IP:\($0)" } ?? (isIPv4(host) ? "IP:\(host)" : "DNS:\(host)")
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// Returns an IPv6 address as openssl prints it: all eight fields, without leading zeros.
    private static func longAddress(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: address) { Array($0) }
        return stride(from: 0, to: 16, by: 2)
            .map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16, uppercase: true) }.joined(separator: ":")
    }

    private static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    /// Checks names and addresses that a user has given.
    static func check(hosts: [String], option: String) throws {
        for host in hosts where longAddress(host) == nil {
            let isName = host.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-.".utf8.contains($0) }
            guard isName, !host.isEmpty else {
                throw CommandFailure("\(option) takes a host name or an IP address, not '\(host)'")
            }
        }
    }

    // MARK: - Files

    /// Creates a folder, and returns its absolute path.
    /// - Parameter mode: its permissions. Keys have their own, so that a broker with a user of its own may enter the folder.
    static func create(_ path: String, mode: Int = 0o755) throws -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: mode])
        } catch {
            throw CommandFailure("cannot create the folder \(path): \(String(cString: strerror(errno)))")
        }
        guard let real = realpath(path, nil) else {
            throw CommandFailure("cannot use the folder \(path): \(String(cString: strerror(errno)))")
        }
        defer { free(real) }
        guard access(real, W_OK) == 0 else { throw CommandFailure("cannot write to the folder \(path)") }
        return String(cString: real)
    }

    /// Writes a file; one with a secret only for its owner.
    func write(_ text: String, to file: String, isSecret: Bool = false) throws {
        let new = file + ".part"
        do {
            unlink(new)
            try prepare(new, mode: isSecret ? 0o600 : 0o644)
            try text.write(toFile: new, atomically: false, encoding: .utf8)
        } catch {
            unlink(new)
            throw CommandFailure("cannot write \(file): \(error)")
        }
        var status = stat()
        // A file that another user owns, such as the broker, stays that user's.
        if stat(file, &status) == 0, geteuid() == 0 { chown(new, status.st_uid, status.st_gid) }
        try move(new, file)
    }

    /// Writes settings, or `FILE.new` if somebody has changed the file since this program wrote it.
    func writeSettings(_ text: String, to file: String) throws {
        let name = String(file.split(separator: "/").last ?? "")
        let record = try Self.create(file.dropLast(name.count) + ".written") + "/" + name
        let present = try? String(contentsOfFile: file, encoding: .utf8)
        if let present, present != text, present != (try? String(contentsOfFile: record, encoding: .utf8)) {
            try write(text, to: file + ".new")
            return report("kept   \(file), which was changed; the new version is \(file).new")
        }
        if present != text { try write(text, to: file) }
        try write(text, to: record)
        unlink(file + ".new")
    }

    private func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// Creates an empty file, so that a program that fills it does not choose who may read it.
    private func prepare(_ file: String, mode: mode_t) throws {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw CommandFailure("cannot write \(file): \(String(cString: strerror(errno)))")
        }
        close(descriptor)
    }

    private func move(_ from: String, _ to: String) throws {
        guard rename(from, to) == 0 else {
            throw CommandFailure("cannot write \(to): \(String(cString: strerror(errno)))")
        }
    }

    private func makeKey(_ file: String) throws {
        try prepare(file, mode: 0o600)
        try run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file)
    }

    private func randomHex(bytes: Int) -> String {
        (0..<bytes).map { _ in UInt8.random(in: .min ... .max) }.hexadecimal
    }

    // MARK: - openssl

    private func run(_ arguments: String...) throws { _ = try output(arguments) }

    /// Runs openssl, and shows its messages only if it fails.
    private func output(_ arguments: [String]) throws -> String {
        let program = try RunningProgram(openssl, arguments)
        let status = program.waitForEnd()
        guard status == 0 else { throw CommandFailure("openssl \(arguments[0]) failed: \(program.text)") }
        return program.text
    }
}
