import LockstepStore

extension ClickHouseSchema {
    /// Creates and updates the tables and views on every replica that answers. One that stops meanwhile is left out, as in a
    /// run.
    /// - Returns: how rows are to be inserted.
    /// - Throws: ``StoreError`` if too few replicas answer, or one has no keeper or no name.
    func updateReplicas(
        _ address: ClickHouseAddress, _ quorum: Quorum, _ version: ServerVersion
    ) throws(StoreError) -> QuorumInsert {
        let database = address.database
        let given = address.servers.count
        guard quorum.number(of: given) <= given else {
            throw StoreError(
                .other,
                "--quorum \(quorum.number(of: given)) needs at least \(quorum.number(of: given)) hosts, but the address has "
                    + "\(given)")
        }
        var clients: [ClickHouseClient] = []
        for server in address.servers { clients.append(try ClickHouseClient(address.on(server), timeout: 20_000)) }
        var replicas = AnsweringServers(clients)
        try replicas.perform { (client) throws(StoreError) in client.settings = try ServerVersion(client).settings }
        try replicas.perform { (client) throws(StoreError) in try client.checkReplicaName() }
        // The base tables come before the others: an insert needs them on as many replicas as the quorum has.
        try replicas.perform { (client) throws(StoreError) in try createTables(client, database: database) }
        var count = given
        try replicas.perform { (client) throws(StoreError) in
            let rows = try client.rows(
                "SELECT max(total_replicas) FROM system.replicas WHERE database = '\(database)'", inDatabase: false)
            count = max(count, rows.first?[0].flatMap { Int($0) } ?? 0)
        }
        let insert = QuorumInsert(replicas: quorum.number(of: count), version: version)
        replicas.required = min(insert.replicas, given)
        try replicas.perform { (client) throws(StoreError) in
            client.insertSettings = insert.settings
            client.readsReplicas = true
            try update(client, database: database)
        }
        return insert
    }
}

extension ClickHouseClient {
    /// Checks that the configuration of the server has the macro that names the replica.
    fileprivate func checkReplicaName() throws(StoreError) {
        let rows = try rows("SELECT substitution FROM system.macros WHERE macro = 'replica'", inDatabase: false)
        guard rows.first?[0]?.isEmpty == false else {
            throw StoreError(
                .other,
                "the configuration of \(address) has no macro 'replica': add <macros><replica>NAME</replica></macros> with "
                    + "another name on each server")
        }
    }
}
