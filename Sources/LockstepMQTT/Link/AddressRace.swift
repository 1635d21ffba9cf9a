import Dispatch

/// Connects to the first of a host's addresses that answers (RFC 8305): if an address has not answered after a fraction of a
/// second, the next one is tried as well.
///
/// The system would wait for each address for minutes, such as for an IPv6 address in a network whose IPv6 does not work.
struct AddressRace {
    let options: MQTTOptions
    let memory: AddressMemory
    var resolve: (String) throws(MQTTError) -> [HostAddress] = HostAddress.resolve

    /// A connection, and the addresses that had not answered when it was made.
    struct Winner {
        let connection: MQTTConnection
        let unanswered: [String]
    }

    /// Returns the first connection. Blocks until TCP is established; the TLS handshake has begun.
    func run() throws(MQTTError) -> Winner {
        let host = options.address.host
        let addresses = try resolve(host)
        guard addresses.count > 1 else {
            let connection = try MQTTConnection(options)
            try connection.open(at: addresses.first?.text)
            return Winner(connection: connection, unanswered: [])
        }
        let start = ContinuousClock.now
        var waiting = HostAddress.inTurn(addresses, preferred: memory.preferred(of: host))[...]
        let delay = memory.delay(of: host)
        let changed = DispatchSemaphore(value: 0)
        var attempts: [(address: String, attempt: Attempt<MQTTConnection>)] = []
        var errors: [MQTTError] = []
        while true {
            if let next = waiting.popFirst() {
                guard let attempt = attempt(at: next.text, changed) else {
                    errors.append(MQTTError(.unreachable, "no answer from \(next.text)"))
                    continue
                }
                attempts.append((next.text, attempt))
            } else if attempts.isEmpty {
                // The errors of TLS say more than those of an address that does not answer.
                throw errors.first { $0.code != .unreachable } ?? errors.first ?? MQTTError(.unreachable, "no address")
            }
            if waiting.isEmpty { changed.wait() } else { _ = changed.wait(timeout: .now() + (delay / .seconds(1))) }
            for (index, (address, attempt)) in attempts.enumerated().reversed() {
                switch attempt.outcome {
                case nil: continue
                case .failure(let error):
                    errors.append(error)
                    attempts.remove(at: index)
                case .success(let connection):
                    memory.didConnect(to: address, of: host, after: .now - start)
                    // Those that were tried later had less time.
                    return Winner(connection: connection, unanswered: attempts[..<index].map(\.address))
                }
            }
        }
    }

    /// Begins an attempt at one address, or returns nil if an earlier one has been without an answer for long.
    private func attempt(at address: String, _ changed: DispatchSemaphore) -> Attempt<MQTTConnection>? {
        let target = AddressMemory.Target(address: address, port: options.address.port)
        guard let start = memory.begin(target) else { return nil }
        return Attempt { [memory] in
            memory.end(target, begunAt: start)
            changed.signal()
        } _: { [options] () throws(MQTTError) in
            let connection = try MQTTConnection(options)
            try connection.open(at: address)
            return connection
        }
    }
}
