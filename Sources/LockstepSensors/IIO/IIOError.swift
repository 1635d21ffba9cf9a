import Glibc

/// Why a sensor of the Industrial I/O subsystem, or all of them, can't be read.
public struct IIOError: Error, Hashable, CustomStringConvertible {
    /// What happened, where, and what to do.
    public let description: String

    /// Whether it is about a setting of a buffer, so that a sensor can still be polled.
    let isBufferProblem: Bool

    package init(_ description: String, isBufferProblem: Bool = false) {
        self.description = description
        self.isBufferProblem = isBufferProblem
    }

    /// What it means that the system refused `path` with `code`, an `errno`.
    package init(path: String, errno code: Int32) {
        let reason = "\(path): \(String(cString: strerror(code)))"
        isBufferProblem = code == EACCES || code == EPERM || code == EINVAL
        switch code {
        case EACCES, EPERM: description = "\(reason): \(Self.permissionAdvice(for: path))"
        case EBUSY:
            description = "\(reason): another program reads the sensor; stop it (iio-sensor-proxy is often the one)"
        case ENODEV, ENXIO: description = "\(reason): the sensor is gone"
        case EIO, EREMOTEIO, ETIMEDOUT:
            description = "\(reason): the sensor does not answer; check its wiring, address and power"
        default: description = reason
        }
    }

    /// A node below /dev and an attribute of sysfs get their rights in different ways.
    private static func permissionAdvice(for path: String) -> String {
        let isNode = path.split(separator: "/").last?.hasPrefix("iio:device") ?? false
        let rule =
            isNode
            ? "SUBSYSTEM==\"iio\", GROUP=\"iio\", MODE=\"0660\""
            : "SUBSYSTEM==\"iio\", RUN+=\"/bin/chgrp -R iio /sys%p\", RUN+=\"/bin/chmod -R g+rwX /sys%p\""
        return "add the udev rule \(rule) and put the agent's user into the group iio, or run the agent as root"
    }
}
