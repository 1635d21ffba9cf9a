import LockstepClickHouse
import Testing

@Suite("Addresses of ClickHouse databases")
struct AddressTests {
    @Test("an address has a host and a database, and may have a user, a port and TLS")
    func valid() throws {
        let plain = try ClickHouseAddress("clickhouse://db.example/samples")
        #expect(
            plain.servers.map(\.host) == ["db.example"] && plain.servers.map(\.port) == [8123]
                && plain.database == "samples" && !plain.usesTLS)
        let full = try ClickHouseAddress("clickhouses://writer@[::1]:9443/samples")
        #expect(
            full.servers.map(\.host) == ["::1"] && full.servers.map(\.port) == [9443] && full.user == "writer"
                && full.usesTLS)
        #expect(full.description == "clickhouses://[::1]:9443/samples")
        #expect(try ClickHouseAddress("clickhouses://db/samples").servers.first?.port == 8443)
        let replicas = try ClickHouseAddress("clickhouse://reader@a:8124,b,[::1]:8125/samples")
        #expect(replicas.servers.map(\.description) == ["a:8124", "b:8123", "[::1]:8125"])
        #expect(replicas.user == "reader" && replicas.description == "clickhouse://a:8124,b:8123,[::1]:8125/samples")
    }

    @Test(
        "an invalid address is refused with the reason",
        arguments: [
            ("db/samples", "clickhouse:// is missing"), ("http://db/samples", "the scheme"),
            ("clickhouse://db", "the database is missing"), ("clickhouse://db/", "the database is missing"),
            ("clickhouse://db/a b", "the database"), ("clickhouse://db/x;DROP", "the database"),
            ("clickhouse://me:secret@db/samples", "--store-password-file"), ("clickhouse:///samples", "the host"),
            ("clickhouse://a b/samples", "the host"), ("clickhouse://db:0/samples", "the port"),
            ("clickhouse://db:70000/samples", "the port"), ("clickhouse://::1/samples", "must be in [ ]"),
            ("clickhouse://a,/samples", "the host"), ("clickhouse://a,a:8123/samples", "twice"),
        ])
    func invalid(text: String, reason: String) {
        let error = #expect(throws: ClickHouseAddressError.self) { try ClickHouseAddress(text) }
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains("secret") != true)
    }
}

@Suite("Addresses of stores")
struct StoreAddressTests {
    @Test("sqlite: is followed by a path")
    func file() throws {
        #expect(try StoreAddress("sqlite:/var/lib/a b") == .sqlite(path: "/var/lib/a b"))
    }

    @Test("any other text is refused with the valid forms", arguments: ["", "sqlite:", "a", "SQLITE:a"])
    func rejected(_ text: String) {
        let error = #expect(throws: StoreAddressError.self) { try StoreAddress(text) }
        #expect(error?.description.contains("use sqlite:PATH or clickhouse://") == true)
    }

    @Test("the path of a file is refused with its address")
    func path() {
        let error = #expect(throws: StoreAddressError.self) { try StoreAddress("a.db") }
        #expect(error?.description.contains("use 'sqlite:a.db'") == true)
    }
}
