import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepTestSupport
import Testing

@Suite("Passwords and keys", .temporaryFolder)
struct SecretTests {
    @Test("a password is read from the first line of a file that only its owner can read")
    func file() throws {
        let path = try secret("s3cret\nmore\n", mode: 0o600)
        let options = try BrokerOptions.parse(["--user", "lab/walker", "--password-file", path])
        let address = try options.address(try settings())
        #expect(address.user == "lab/walker")
        #expect(address.password == "s3cret")
        #expect("\(address)" == "mqtt://localhost:1883")
    }

    @Test("a secret is appended to client ids, also for all nodes of a cluster, and is never shown")
    func clientID() throws {
        let path = try secret("0123456789abcdef\n", mode: 0o600)
        let options = try BrokerOptions.parse(["--broker", "mqtt://one,mqtt://two", "--client-id-file", path])
        let address = try options.address(try settings())
        for node in address.nodes {
            #expect(
                MQTTOptions(address: node, clientID: "lockstep-agent").clientID == "lockstep-agent-0123456789abcdef")
        }
        #expect(!"\(address)".contains("0123"))
        #expect(MQTTOptions(address: BrokerAddress(host: "one", port: 1), clientID: "id").clientID == "id")
    }

    @Test(
        "a secret for client ids that is short or has other characters is refused",
        arguments: ["short", "0123456789abcde/"])
    func wrongClientID(_ text: String) throws {
        let path = try secret(text + "\n", mode: 0o600)
        let options = try BrokerOptions.parse(["--client-id-file", path])
        let reason = failure { _ = try options.address(try settings()) }
        #expect(reason?.contains("must be 16 to 64 of the characters a-z and 0-9") == true, "\(reason ?? "")")
        #expect(reason?.contains(text) == false)
    }

    @Test("a password is read from a pipe, as a shell passes it with <(…)")
    func pipe() async throws {
        let path = try secret("", mode: 0o600) + ".pipe"
        try #require(mkfifo(path, 0o600) == 0)
        defer { unlink(path) }
        let writer = Task.detached {
            // Waits until the pipe is opened for reading.
            let file = open(path, O_WRONLY)
            let text = Array("s3cret\nmore\n".utf8)
            _ = Glibc.write(file, text, text.count)
            close(file)
        }
        #expect(try SecretFile.password(in: path) == "s3cret")
        await writer.value
    }

    @Test("a password is read from the environment and from a settings file that only its owner can read")
    func otherPlaces() throws {
        let options = try BrokerOptions.parse(["--user", "me"])
        #expect(try options.address(try settings(["LOCKSTEP_PASSWORD": "s3cret"])).password == "s3cret")
        let url = try settings(["LOCKSTEP_BROKER": "mqtt://me:s3cret@host"])
        #expect(try BrokerOptions.parse([]).address(url).password == "s3cret")
        for text in ["password: s3cret\n", "broker: mqtt://me:s3cret@host\n"] {
            let file = try write(text)
            #expect(chmod(file, 0o600) == 0)
            #expect(try options.address(try settings(file: file)).password == "s3cret")
            #expect(chmod(file, 0o644) == 0)
            let rejection = failure { _ = try options.address(try settings(file: file)) }
            #expect(rejection?.hasSuffix("(mode 644): run 'chmod 600 \(file)'") == true, "\(rejection ?? "")")
        }
    }

    @Test("a secret in a file that other users can access is refused", arguments: [0o640, 0o604, 0o620, 0o644, 0o777])
    func mode(_ mode: UInt32) throws {
        let path = try secret("s3cret\n", mode: mode)
        let reason =
            "\(path) contains a secret, but other users can access it (mode \(String(mode, radix: 8))): "
            + "run 'chmod 600 \(path)'"
        let password = try BrokerOptions.parse(["--user", "me", "--password-file", path])
        #expect(failure { _ = try password.address(try settings()) } == "--password-file: " + reason)
        let key = try BrokerOptions.parse(["--broker", "mqtts://host", "--cert-file", "/c.pem", "--key-file", path])
        #expect(failure { _ = try key.tls(try settings()) } == "--key-file: " + reason)
    }

    @Test("a password on the command line is refused, because other users can read it")
    func commandLine() throws {
        let options = try BrokerOptions.parse(["--broker", "mqtt://me:s3cret@host"])
        #expect(
            failure { _ = try options.address(try settings()) }
                == "--broker: every user of this machine can read a password on the command line: use --user together "
                + "with --password-file or LOCKSTEP_PASSWORD")
    }

    @Test("a password that is missing, empty, set twice or without a user is refused")
    func wrong() throws {
        let path = try secret("\n", mode: 0o600)
        let full = try secret("x", mode: 0o600, name: "full")
        for (arguments, environment, reason) in [
            (
                ["--password-file", "/nowhere"], [:],
                "--password-file: cannot read /nowhere: No such file or directory"
            ),
            (["--password-file", path], [:], "--password-file: the first line of \(path), the secret, is empty"),
            (["--password-file", full], [:], "a password requires a user name: add --user"),
            (
                ["--user", "me", "--password-file", full], ["LOCKSTEP_PASSWORD": "y"],
                "the password is set twice: use either password-file or LOCKSTEP_PASSWORD"
            ),
        ] as [([String], [String: String], String)] {
            let options = try BrokerOptions.parse(arguments)
            #expect(failure { _ = try options.address(try settings(environment)) } == reason)
        }
    }

    @Test("certificate and key require each other, and all TLS files require mqtts://")
    func pairs() throws {
        let certificateOnly = try BrokerOptions.parse(["--broker", "mqtts://host", "--cert-file", "/c.pem"])
        #expect(
            failure { _ = try certificateOnly.tls(try settings()) }
                == "--cert-file and --key-file must be used together")
        let plain = try BrokerOptions.parse(["--broker", "mqtt://host", "--ca-file", "/ca.pem"])
        #expect(
            failure { _ = try plain.tls(try settings()) }
                == "--ca-file, --cert-file and --key-file require TLS: use mqtts:// in --broker")
        let fromFile = try BrokerOptions.parse(["--ca-file", "/ca.pem"])
        let reason = failure { _ = try fromFile.tls(try settings(["LOCKSTEP_BROKER": "mqtt://host"])) }
        #expect(reason?.hasSuffix("use mqtts:// in LOCKSTEP_BROKER, which overrides a settings file") == true)
    }

    private func settings(_ environment: [String: String] = [:], file: String? = nil) throws -> Settings {
        try Settings(of: [BrokerSettings.self], file: file, environment: environment)
    }

    private func secret(_ text: String, mode: UInt32, name: String = "secret") throws -> String {
        let path = TemporaryFolder.path + "/" + name
        try Data(text.utf8).write(to: URL(filePath: path))
        #expect(chmod(path, mode) == 0)
        return path
    }
}
