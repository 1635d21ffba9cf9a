import LockstepStore

/// The replicas that answer while a store is opened. One that stops is left out, as long as enough of them are left.
struct AnsweringServers<Server> {
    /// The servers that have answered each step so far.
    private(set) var servers: [Server]
    /// The number of servers that must answer.
    var required = 1

    /// The error of the last server that was left out.
    private var failure: StoreError?

    init(_ servers: [Server]) { self.servers = servers }

    /// Performs a step with each server, and leaves out those that do not answer.
    /// - Throws: an error that a server reports, or that of a server that does not answer if too few are left.
    mutating func perform(_ step: (Server) throws(StoreError) -> Void) throws(StoreError) {
        var answering: [Server] = []
        for server in servers {
            do {
                try step(server)
                answering.append(server)
            } catch {
                guard error.code == .unreachable else { throw error }
                failure = error
            }
        }
        servers = answering
        if servers.count < required, let failure { throw failure }
    }
}
