import LockstepStore
import Testing

@testable import LockstepClickHouse

/// Replicas that stop while a store is opened.
@Suite("Replicas that answer at the start")
struct AnsweringServersTests {
    private static let away = StoreError(.unreachable, "the server does not answer")

    @Test("a replica that stops during any step is left out of the further ones", arguments: 0..<4, 0..<3)
    func stops(step stopping: Int, server stopped: Int) throws {
        var servers = AnsweringServers([0, 1, 2])
        servers.required = 2
        var performed: [Int] = []
        for step in 0..<4 {
            performed = []
            try servers.perform { (server) throws(StoreError) in
                if step == stopping, server == stopped { throw Self.away }
                performed.append(server)
            }
        }
        #expect(servers.servers == [0, 1, 2].filter { $0 != stopped })
        #expect(performed == servers.servers)
    }

    @Test("too few replicas are an error, also if they stop one after the other")
    func tooFew() throws {
        var servers = AnsweringServers([0, 1, 2])
        try servers.perform { (server) throws(StoreError) in if server == 0 { throw Self.away } }
        servers.required = 2
        try servers.perform { (_) throws(StoreError) in }
        #expect(throws: Self.away) {
            try servers.perform { (server) throws(StoreError) in if server == 1 { throw Self.away } }
        }
    }

    @Test("an error that a replica reports is not passed over")
    func reported() {
        let refusal = StoreError(.notAllowed, "the server refuses the user")
        var servers = AnsweringServers([0, 1])
        #expect(throws: refusal) {
            try servers.perform { (server) throws(StoreError) in if server == 1 { throw refusal } }
        }
    }
}
