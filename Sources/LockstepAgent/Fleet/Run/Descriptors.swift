import Glibc

/// The limit of open files and sockets of this process.
enum Descriptors {
    /// The descriptors of one connection: its socket, and the socket pair that libmosquitto uses to wake its thread.
    private static let perConnection = 3
    /// The descriptors for everything else.
    private static let reserve = 64

    /// Raises the limit as far as possible, and checks that it is sufficient.
    /// - Throws: ``FleetError`` if it is not.
    static func raiseLimit(for connections: Int) throws(FleetError) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try check(connections: connections, limit: Int(clamping: limit.rlim_cur))
    }

    /// Checks whether a limit is sufficient for the connections.
    /// - Throws: ``FleetError`` with a suggestion if it is not.
    static func check(connections: Int, limit: Int) throws(FleetError) {
        let needed = connections * perConnection + reserve
        guard needed > limit else { return }
        throw FleetError(
            """
            \(connections) connections need \(needed) file descriptors, but the limit is \(limit): raise the limit \
            (ulimit -n \(needed)), or let devices share connections \
            (--connections \(max(1, (limit - reserve) / perConnection)))
            """)
    }
}
