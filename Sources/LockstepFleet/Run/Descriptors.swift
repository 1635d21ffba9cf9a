import Glibc

/// How many files and sockets this process may have open.
enum Descriptors {
    /// What one connection takes: its socket, and the pair with which libmosquitto wakes a thread of its own.
    private static let perConnection = 3
    /// For all else.
    private static let reserve = 64

    /// Raises the limit as far as this user may, and checks that it is enough.
    /// - Throws: ``FleetError`` where it is not.
    static func provide(for connections: Int) throws(FleetError) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try check(connections: connections, limit: Int(clamping: limit.rlim_cur))
    }

    static func check(connections: Int, limit: Int) throws(FleetError) {
        let needed = connections * perConnection + reserve
        guard needed > limit else { return }
        throw FleetError(
            """
            \(connections) connections need \(needed) descriptors, and this process may have \(limit): raise the limit \
            (ulimit -n \(needed)), or share connections (--connections \(max(1, (limit - reserve) / perConnection)))
            """)
    }
}
