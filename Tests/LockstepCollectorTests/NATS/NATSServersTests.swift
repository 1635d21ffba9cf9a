import LockstepCollector
import Testing

@Suite("Addresses of NATS servers")
struct NATSServersTests {
    @Test(
        "addresses have a default port",
        arguments: [
            ("nats://a", ["nats://a:4222"]),
            ("nats://a:1,nats://b/", ["nats://a:1", "nats://b:4222"]),
            ("tls://[::1],tls://[fe80::1]:5", ["tls://[::1]:4222", "tls://[fe80::1]:5"]),
        ])
    func valid(text: String, urls: [String]) throws {
        let servers = try NATSServers(text)
        #expect(servers.urls == urls)
        #expect(servers.usesTLS == text.hasPrefix("tls"))
        #expect(try NATSServers(servers.description) == servers)
    }

    @Test(
        "an invalid address is refused with the reason",
        arguments: [
            ("", "nats:// is missing"), ("a:4222", "nats:// is missing"), ("nats://a,b", "nats:// is missing"),
            ("mqtt://a", "neither nats nor tls"), ("nats://a,tls://b", "either all"), ("nats://", "host is missing"),
            ("nats://a b", "host is missing"), ("nats://a:0", "port"), ("nats://a:70000", "port"),
            ("nats://[::1", "']'"),
            ("nats://[]", "host is missing"), ("nats://me:secret@a", "those of the broker"),
        ])
    func invalid(text: String, reason: String) {
        let error = #expect(throws: NATSServersError.self) { try NATSServers(text) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") == false)
    }

    @Test("different texts have different keys, in characters that NATS allows")
    func keys() {
        let texts = ["lockstep/a/b", "lockstep/a.b", "lockstep/a/.b", "a:0-4", "a=3A0-4", "ä", "a b", "_-"]
        let keys = texts.map(keyValueKey)
        #expect(keys[0] == "lockstep/a/b" && keys[1] == "lockstep/a=2Eb" && keys[3] == "a=3A0-4")
        #expect(Set(keys).count == texts.count)
        let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/=")
        for key in keys { #expect(key.allSatisfy(allowed.contains), "\(key)") }
    }
}
