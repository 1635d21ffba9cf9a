/// How a device is held: which of its sides is down.
///
/// The device's axes, seen by who looks at its screen in portrait: x to the right, y to the top, z out of the screen.
/// The names are those of UIKit's `UIDeviceOrientation`, whose header says "home button on the right" of
/// `landscapeLeft`: the bottom edge is then on the right and the top points left. Gravity in a Lockstep accelerometer is
/// -1 g along what is up, so it points to what is down.
///
/// | orientation | accelerometer at rest, in g |
/// |---|---|
/// | portrait | (0, -1, 0) |
/// | portraitUpsideDown | (0, 1, 0) |
/// | landscapeLeft | (-1, 0, 0) |
/// | landscapeRight | (1, 0, 0) |
/// | faceUp | (0, 0, -1) |
/// | faceDown | (0, 0, 1) |
public enum DeviceOrientation: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    // In the order of the words of the stream.
    case portrait
    case portraitUpsideDown
    case landscapeLeft
    case landscapeRight
    case faceUp
    case faceDown

    public var description: String { rawValue }

    /// The value in a row of the `orientation` stream: the index among its words.
    public var streamValue: Double {
        switch self {
        case .portrait: 0
        case .portraitUpsideDown: 1
        case .landscapeLeft: 2
        case .landscapeRight: 3
        case .faceUp: 4
        case .faceDown: 5
        }
    }

    /// The orientation that a row of the `orientation` stream tells; nil where the value is no index of its words.
    public init?(streamValue: Double) {
        guard let match = Self.allCases.first(where: { $0.streamValue == streamValue }) else { return nil }
        self = match
    }

    /// Whether the device lies flat.
    public var isFlat: Bool { self == .faceUp || self == .faceDown }

    /// The direction of gravity in the device's axes.
    public var gravity: SIMD3<Double> {
        switch self {
        case .portrait: SIMD3(0, -1, 0)
        case .portraitUpsideDown: SIMD3(0, 1, 0)
        case .landscapeLeft: SIMD3(-1, 0, 0)
        case .landscapeRight: SIMD3(1, 0, 0)
        case .faceUp: SIMD3(0, 0, -1)
        case .faceDown: SIMD3(0, 0, 1)
        }
    }
}
