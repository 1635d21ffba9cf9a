import LockstepLive
import LockstepModel

/// The text that `/metrics` serves: the health of collectors, devices and the serving process for Prometheus.
///
/// docs/monitoring.md lists all metrics.
struct MetricsText: Sendable {
    /// The content type of the text.
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"
    /// The default of ``deviceLimit``.
    static let defaultDeviceLimit = 100
    /// The maximum number of streams of a device with a rate. A device can declare streams of its own without limit.
    static let streamLimit = 32

    /// The maximum number of devices with metrics of their own, so that a large fleet does not fill a Prometheus server.
    let deviceLimit: Int

    /// - Parameter deviceLimit: the maximum number of devices with metrics of their own.
    init(deviceLimit: Int = MetricsText.defaultDeviceLimit) { self.deviceLimit = max(0, deviceLimit) }

    /// Returns the metrics of the whole system. Ages and rates are those at `moment`.
    func render(_ live: LiveDevices, _ server: ServerFigures, at moment: Moment) -> String {
        var writer = MetricsWriter()
        writer.write(collectors: live.collectors)
        writer.write(gateways: live.gateways)
        // The same devices each time, so that a series is not interrupted while others come and go.
        let devices = live.devices.sorted { $0.address < $1.address }
        writer.write(states: devices)
        writer.metric("lockstep_metrics_devices_omitted", "Devices beyond --metrics-devices.") {
            $0.count(max(0, devices.count - deviceLimit))
        }
        writer.write(devices: devices.prefix(deviceLimit), of: live, at: moment)
        writer.write(server)
        return writer.text
    }
}

extension Timestamp {
    /// The time in seconds since 1970.
    var seconds: Double { Double(microseconds) / 1_000_000 }
}
