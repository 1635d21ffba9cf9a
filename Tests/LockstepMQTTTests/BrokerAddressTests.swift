import LockstepMQTT
import Testing

@Suite("BrokerAddress")
struct BrokerAddressTests {
    @Test(
        "all valid forms are parsed",
        arguments: [
            ("mqtt://host", BrokerAddress(host: "host", port: 1883)),
            ("mqtts://host", BrokerAddress(host: "host", port: 8883, usesTLS: true)),
            ("mqtt://host/", BrokerAddress(host: "host", port: 1883)),
            ("mqtt://10.0.0.7:1", BrokerAddress(host: "10.0.0.7", port: 1)),
            ("mqtts://h.example:65535", BrokerAddress(host: "h.example", port: 65_535, usesTLS: true)),
            ("mqtt://me@host", BrokerAddress(host: "host", port: 1883, user: "me")),
            ("mqtt://me:@host", BrokerAddress(host: "host", port: 1883, user: "me", password: "")),
            ("mqtt://me:secret@host:99", BrokerAddress(host: "host", port: 99, user: "me", password: "secret")),
            ("mqtt://me:a:b/c@d@host", BrokerAddress(host: "host", port: 1883, user: "me", password: "a:b/c@d")),
            (
                "mqtt://m%40e:%3A%2f%25%C3%A4@host",
                BrokerAddress(host: "host", port: 1883, user: "m@e", password: ":/%ä")
            ),
            ("mqtt://[::1]", BrokerAddress(host: "::1", port: 1883)),
            ("mqtt://[fe80::1]:1884/", BrokerAddress(host: "fe80::1", port: 1884)),
            (
                "mqtts://me:pw@[2001:db8::7]:8884",
                BrokerAddress(host: "2001:db8::7", port: 8884, usesTLS: true, user: "me", password: "pw")
            ),
        ])
    func forms(_ text: String, _ expected: BrokerAddress) throws {
        #expect(try BrokerAddress(text) == expected)
    }

    @Test("a cluster has the addresses of its nodes, separated by commas; a comma in a password separates nothing")
    func nodes() throws {
        var address = try BrokerAddress("mqtt://me:a,b@one,mqtt://two:1884/,mqtt://[::1]")
        #expect(
            address.nodes == [
                BrokerAddress(host: "one", port: 1883, user: "me", password: "a,b"),
                BrokerAddress(host: "two", port: 1884), BrokerAddress(host: "::1", port: 1883),
            ])
        #expect(address.host == "one" && address.description == "mqtt://one:1883,mqtt://two:1884,mqtt://[::1]:1883")
        address.changeNodes { $0.user = "you" }
        #expect(address.nodes.map(\.user) == ["you", "you", "you"] && address.nodes.map(\.port) == [1883, 1884, 1883])
        #expect(try BrokerAddress("mqtt://one").nodes == [BrokerAddress(host: "one", port: 1883)])
    }

    @Test(
        "an invalid address is rejected with the reason",
        arguments: [
            ("", "mqtt:// is missing"),
            ("host:1883", "mqtt:// is missing"),
            ("http://host", "the scheme is neither mqtt nor mqtts"),
            ("tcp://host", "the scheme is neither mqtt nor mqtts"),
            ("mqtt://", "the host is missing or invalid"),
            ("mqtt:///", "the host is missing or invalid"),
            ("mqtt://:1883", "the host is missing or invalid"),
            ("mqtt://me:pw@", "the host is missing or invalid"),
            ("mqtt://a b", "the host is missing or invalid"),
            ("mqtt://host/path", "the host is missing or invalid"),
            ("mqtt://[]", "the host is missing or invalid"),
            ("mqtt://host:", "the port is not from 1 to 65535"),
            ("mqtt://host:0", "the port is not from 1 to 65535"),
            ("mqtt://host:65536", "the port is not from 1 to 65535"),
            ("mqtt://host:-1", "the port is not from 1 to 65535"),
            ("mqtt://[::1]:x", "the port is not from 1 to 65535"),
            ("mqtt://::1", "an IPv6 address must be in [ ]"),
            ("mqtt://[::1", "']' is missing"),
            ("mqtt://[::1]1883", "only :port may follow ']'"),
            ("mqtt://@host", "the user name is empty or has an invalid % code"),
            ("mqtt://:pw@host", "the user name is empty or has an invalid % code"),
            ("mqtt://m%4@host", "the user name is empty or has an invalid % code"),
            ("mqtt://m%zz@host", "the user name is empty or has an invalid % code"),
            ("mqtt://m%ff@host", "the user name is empty or has an invalid % code"),
            ("mqtt://me:100%@host", "the password has an invalid % code (write % as %25)"),
            ("mqtt://a,b", "mqtt:// is missing after a comma"),
            ("mqtt://a:1883,b:1883", "mqtt:// is missing after a comma"),
            ("mqtt://a:1,b", "mqtt:// is missing after a comma"),
            ("mqtt://a,mqtts://b", "either all addresses use TLS or none"),
            ("mqtt://a,mqtt://", "the host is missing or invalid"), ("mqtt://a,", "mqtt:// is missing after a comma"),
            ("mqtt://me:%2@host", "the password has an invalid % code (write % as %25)"),
        ])
    func rejected(_ text: String, _ reason: String) {
        let error = #expect(throws: BrokerAddressError.self) { try BrokerAddress(text) }
        #expect(
            error?.description
                == "not a broker address: \(reason); use mqtt[s]://[user@]host[:port]")
    }

    @Test("a % code with a sign is rejected", arguments: ["mqtt://m%+f@host", "mqtt://m%-0@host"])
    func signInCode(_ text: String) {
        let address = try? BrokerAddress(text)
        #expect(address == nil)
    }

    @Test(
        "errors never contain the password",
        arguments: [
            "x://me:s3cret@host", "mqtt://me:s3cret%@host", "mqtt://me:s3cret@", "mqtt://me:s3cret@host:x",
            "mqtt://me:s3cret@a:b:c", "mqtt://:s3cret@host", "mqtt://me:s3cret@[::1]x", "mqtt://me:s3cret",
            "me:s3cret@host",
        ])
    func passwordInErrors(_ text: String) {
        let error = #expect(throws: BrokerAddressError.self) { try BrokerAddress(text) }
        #expect(error.map { "\($0) \(String(reflecting: $0))" }?.contains("s3cret") == false)
    }

    @Test(
        "the description contains neither user name nor password",
        arguments: [
            ("mqtt://me:s3cret@host", "mqtt://host:1883"), ("mqtts://me:s3cret@[::1]:99", "mqtts://[::1]:99"),
        ])
    func description(_ text: String, _ shown: String) throws {
        let address = try BrokerAddress(text)
        #expect("\(address)" == shown)
        #expect(String(reflecting: address) == shown)
        #expect("\(Optional(address) as Any)".contains("s3cret") == false)
        #expect(try BrokerAddress(shown).description == shown)
    }
}
