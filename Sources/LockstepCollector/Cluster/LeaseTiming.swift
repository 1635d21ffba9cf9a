/// How often leases and memberships are renewed, and how long they last without a renewal.
struct LeaseTiming: Equatable {
    /// The time between two renewals, in µs.
    let renewal: Int64
    /// The time for which the owner of a lease relies on a confirmed renewal, in µs. It is shorter than `timeout`.
    let validity: Int64
    /// The time without a renewal after which others count a member or a lease as lost, in µs.
    let timeout: Int64

    /// For leases that one MQTT broker keeps.
    static let broker = LeaseTiming(renewal: 3_000_000, validity: 10_000_000, timeout: 12_000_000)
    /// For leases in a NATS cluster, in which nothing can be written for up to 9 s after a node has failed, until another
    /// one is elected.
    static let keyValue = LeaseTiming(renewal: 2_000_000, validity: 15_000_000, timeout: 18_000_000)
}
