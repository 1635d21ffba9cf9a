/// What a user decides about the sensors of the Industrial I/O subsystem.
public struct IIOChoices: Sendable, Hashable {
    /// The devices that provide their streams before all others, best first. A device is named by its id
    /// (`iio:device1`), its name, its label (`accel-display`) or its location (`lid`).
    public var devices: [String]
    /// The mount matrices that replace those of the system.
    public var mountMatrices: [IIOMountMatrix]

    /// Creates the choices; by default nothing is chosen.
    public init(devices: [String] = [], mountMatrices: [IIOMountMatrix] = []) {
        self.devices = devices
        self.mountMatrices = mountMatrices
    }

    /// The names of all devices that are mentioned.
    var names: [String] { devices + mountMatrices.compactMap(\.device) }
}

/// A mount matrix chosen by the user.
public struct IIOMountMatrix: Sendable, Hashable {
    /// The device as in ``IIOChoices/devices``; nil for all devices without an own choice.
    public let device: String?
    package let matrix: MountMatrix

    /// Parses `[DEVICE=]MATRIX`, such as `accel-display=0 1 0; 1 0 0; 0 0 1`.
    /// - Throws: ``IIOError`` if the matrix is not the rotation of a mounted sensor.
    public init(_ text: String) throws(IIOError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        device = parts.count == 2 ? String(parts[0]) : nil
        matrix = try MountMatrix(String(parts[parts.count - 1]))
    }
}
