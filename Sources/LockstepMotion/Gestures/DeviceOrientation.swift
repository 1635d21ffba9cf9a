/// The orientation in which a device is held: which of its sides points down.
///
/// The device's axes, for a viewer of the screen in portrait: x to the right, y to the top, z out of the screen. The
/// names are those of UIKit's `UIDeviceOrientation`, whose header describes `landscapeLeft` as "home button on the
/// right": the bottom edge is on the right and the top points left. A Lockstep accelerometer reads −1 g along the axis
/// that points up, so its vector points down.
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
    // The cases are in the order of the stream's choices.
    /// Upright, the bottom edge down.
    case portrait
    /// Upside down, the top edge down.
    case portraitUpsideDown
    /// On its left edge.
    case landscapeLeft
    /// On its right edge.
    case landscapeRight
    /// Flat, the screen up.
    case faceUp
    /// Flat, the screen down.
    case faceDown

    /// The name of the orientation.
    public var description: String { rawValue }

    /// The value in a row of the `orientation` stream: the index among its choices.
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

    /// Creates the orientation from a value of the `orientation` stream; nil if the value is not an index of its
    /// choices.
    public init?(streamValue: Double) {
        guard let match = Self.allCases.first(where: { $0.streamValue == streamValue }) else { return nil }
        self = match
    }

    /// Whether the device lies flat.
    public var isFlat: Bool { self == .faceUp || self == .faceDown }

    /// The direction of gravity in the device's axes, of length 1.
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
