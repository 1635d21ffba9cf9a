import Foundation
import LockstepMQTT
import LockstepTestSupport

/// Credentials created by `lockstep certs` in a temporary folder.
struct Credentials {
    let folder: String

    /// Runs `lockstep certs broker` for a broker on loopback.
    static func make(in folder: String, _ arguments: [String] = []) async throws -> Credentials {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["certs", "broker", "--certs", folder, "--host", "localhost"] + arguments)
        guard run.status == 0 else { throw ProgramError(run.text) }
        return Credentials(folder: folder)
    }

    /// Runs `lockstep certs device` for a device of the group `lab`.
    /// - Returns: The output.
    @discardableResult
    func add(_ device: String, _ arguments: [String] = []) async throws -> String {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["certs", "device", "--certs", folder, "--group", "lab", device] + arguments)
        guard run.status == 0 else { throw ProgramError(run.text) }
        return run.text
    }

    /// Creates the certificate of another user, such as a phone.
    func issue(_ user: String) async throws {
        let run = try await RunningProgram.run(
            Programs.built("lockstep"), ["certs", "user", user, "--certs", folder, "--days", "9"])
        guard run.status == 0 else { throw ProgramError(run.text) }
    }

    var authority: String { folder + "/ca.pem" }
    var trusting: TLSOptions { TLSOptions(authorityFile: authority) }

    /// The path without `.pem` or `.key` of a user: `collector`, `reader`, `operator`, or a device such as
    /// `lab/walker`.
    func path(_ user: String) -> String {
        user.contains("/") ? "\(folder)/devices/\(user)/device" : "\(folder)/\(user)"
    }

    func tls(_ user: String) -> TLSOptions {
        TLSOptions(
            authorityFile: authority, certificateFile: path(user) + ".pem", keyFile: path(user) + ".key")
    }

    /// The command-line options for TLS settings.
    func options(_ tls: TLSOptions) -> [String] {
        let pairs = [
            ("--ca-file", tls.authorityFile), ("--cert-file", tls.certificateFile), ("--key-file", tls.keyFile),
        ]
        return pairs.flatMap { name, path in path.map { [name, $0] } ?? [] }
    }

    /// Creates a certificate of a user that expires at once, with the same key. OpenSSL 3.5 creates none that has expired.
    /// - Returns: The path.
    func expired(_ user: String, _ extensions: String = "") async throws -> String {
        let subject = user.replacing("/", with: "\\/")
        let path = path(user)
        try extensions.write(toFile: path + ".extensions", atomically: true, encoding: .utf8)
        for arguments in [
            ["req", "-new", "-key", path + ".key", "-subj", "/CN=\(subject)", "-out", path + ".request"],
            [
                "x509", "-req", "-in", path + ".request", "-CA", authority, "-CAkey", folder + "/ca.key",
                "-set_serial", "4711", "-days", "0", "-extfile", path + ".extensions", "-out", path + ".expired",
            ],
        ] {
            let run = try await RunningProgram.run("/usr/bin/openssl", arguments)
            guard run.status == 0 else { throw ProgramError(run.text) }
        }
        return path + ".expired"
    }
}
