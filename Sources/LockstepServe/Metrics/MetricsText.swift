import LockstepModel

/// The text that `/metrics` serves: the health of collectors, devices and the serving process for Prometheus.
///
/// docs/monitoring.md lists all metrics.
public struct MetricsText: Sendable {
    /// The content type of the text.
    public static let contentType = "text/plain; version=0.0.4; charset=utf-8"
    /// The default of ``deviceLimit``.
    public static let defaultDeviceLimit = 100
    /// The maximum number of streams of a device with a rate. A device can declare streams of its own without limit.
    static let streamLimit = 32

    /// The maximum number of devices with metrics of their own, so that a large fleet does not fill a Prometheus server.
    public let deviceLimit: Int

    /// Creates a renderer.
    /// - Parameter deviceLimit: the maximum number of devices with metrics of their own.
    public init(deviceLimit: Int = MetricsText.defaultDeviceLimit) { self.deviceLimit = max(0, deviceLimit) }

    /// Returns the metrics of a snapshot.
    public func render(_ snapshot: MetricsSnapshot) -> String {
        var writer = MetricsWriter()
        writer.write(collectors: snapshot.collectors)
        writer.write(gateways: snapshot.gateways)
        // The same devices each time, so that a series is not interrupted while others come and go.
        let devices = snapshot.devices.sorted { $0.address < $1.address }
        writer.write(states: devices)
        writer.metric("lockstep_metrics_devices_omitted", .gauge, "Devices beyond --metrics-devices.") {
            $0.count(max(0, devices.count - deviceLimit))
        }
        writer.write(devices: devices.prefix(deviceLimit), at: snapshot.at)
        writer.write(server: snapshot.server)
        return writer.text
    }
}

extension Timestamp {
    /// The time in seconds since 1970.
    var seconds: Double { Double(microseconds) / 1_000_000 }
}
