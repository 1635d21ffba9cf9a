import Glibc

/// A failure to read one or all sensors of the Industrial I/O subsystem.
public struct IIOError: Error, Hashable, CustomStringConvertible {
    /// The failure, its place and advice.
    public let description: String

    /// Whether only the configuration of a buffer failed, so that the sensor can still be polled.
    let isBufferProblem: Bool
    /// Whether only access is missing, which udev may still grant.
    let isAccessProblem: Bool

    package init(_ description: String, isBufferProblem: Bool = false, isAccessProblem: Bool = false) {
        self.description = description
        self.isBufferProblem = isBufferProblem
        self.isAccessProblem = isAccessProblem
    }

    /// Creates the error of a failed system call on `path`, with the cause and advice for `code`, an `errno`.
    package init(path: String, errno code: Int32) {
        let reason = "\(path): \(String(cString: strerror(code)))"
        isAccessProblem = [EACCES, EPERM].contains(code)
        isBufferProblem = [EACCES, EPERM, EINVAL, ENOTTY].contains(code)
        switch code {
        case EACCES, EPERM: description = "\(reason): \(Self.permissionAdvice(for: path))"
        case EBUSY:
            description = "\(reason): another program uses the sensor; stop it (often iio-sensor-proxy)"
        case ENODEV, ENXIO: description = "\(reason): the sensor is gone"
        case EIO, EREMOTEIO, ETIMEDOUT:
            description = "\(reason): the sensor does not answer; check its wiring, address and power"
        default: description = reason
        }
    }

    /// Returns advice for a missing permission: nodes in /dev and sysfs attributes need different udev rules.
    private static func permissionAdvice(for path: String) -> String {
        let isNode = path.split(separator: "/").last?.hasPrefix("iio:device") ?? false
        let rule =
            isNode
            ? "SUBSYSTEM==\"iio\", GROUP=\"iio\", MODE=\"0660\""
            : "SUBSYSTEM==\"iio\", RUN+=\"/bin/chgrp -R iio /sys%p\", RUN+=\"/bin/chmod -R g+rwX /sys%p\""
        return "add the udev rule \(rule) and put the agent's user into the group iio, or run the agent as root"
    }
}
