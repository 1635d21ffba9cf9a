package import Logging

// What all programs log of their connections to a broker, in the same words.
extension Logger {
    package func report(
        _ link: BrokerLink, connectedTo broker: some CustomStringConvertible, sessionPresent: Bool
    ) {
        info(
            "connected to broker",
            metadata: [
                "broker": "\(broker)", "mqtt": "\(link.version.rawValue)",
                "session": sessionPresent ? "resumed" : "new",
            ])
        reportUnansweredAddresses(of: link, broker)
    }

    /// Logs the addresses of the broker's host that did not answer, unless they were logged before.
    package func reportUnansweredAddresses(of link: BrokerLink, _ broker: some CustomStringConvertible) {
        let addresses = link.takeUnansweredAddresses()
        guard !addresses.isEmpty else { return }
        warning(
            "an address of the broker's host does not answer, using another one",
            metadata: ["broker": "\(broker)", "addresses": "\(addresses.joined(separator: ","))"])
    }

    /// Logs certificates that expire soon, or have expired.
    package func report(_ warnings: [CertificateWatch.Warning]) {
        for warning in warnings {
            var metadata: Metadata = [
                "certificate": "\(warning.use.rawValue)", "days": "\(warning.days)",
                "hint": "renew it; certificates of 'lockstep certs': run it again",
            ]
            metadata["file"] = warning.file.map { "\($0)" }
            if warning.hasExpired {
                error("certificate has expired", metadata: metadata)
            } else {
                self.warning("certificate expires soon", metadata: metadata)
            }
        }
    }
}
