/// The settings of the Sensor Logger format.
public struct SensorLoggerSettings: Sendable {
    /// The direction of the axes of accelerations and gravity, which a message does not show.
    public enum Axes: String, Sendable, CaseIterable {
        /// A phone at rest, face up, measures +9.81 m/s² along z: Android, and iOS with "Standardise Units & Frames".
        case android
        /// A phone at rest, face up, measures −9.81 m/s² along z: iOS without "Standardise Units & Frames".
        case ios
    }

    /// The topic; the last level of a topic below it names the device.
    public var topic = "sensor-logger"
    /// The axes of devices that are not in ``axesOfDevice``.
    public var axes = Axes.android
    /// The axes of single devices, by the last part of their foreign name.
    public var axesOfDevice: [String: Axes] = [:]

    /// Creates default settings.
    public init() {}

    func axes(of device: String) -> Axes { axesOfDevice[device] ?? axes }
}
