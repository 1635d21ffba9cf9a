package import LockstepModel

/// The guidance through the positions of a calibration: it takes the live samples of a device, and says what to do next.
package struct CalibrationGuide: Sendable {
    /// The rate that the sensors should have, in samples per second.
    package static let rate = 50.0
    /// The longest time without samples, in µs.
    private static let maxSilence: Int64 = 20_000_000

    /// The positions so far.
    package private(set) var calibrator = InertialCalibrator()
    private var detector: StillPositionDetector
    /// The calibration of the samples.
    private let replaced: InertialCalibration?
    private var lastSample: Int64
    private var lastPosition: Int64

    /// - Parameters:
    ///   - replaced: the calibration that the agent applies.
    ///   - boot: the present time, in µs of the boot clock.
    package init(hasGyroscope: Bool, replaced: InertialCalibration?, at boot: Int64) {
        detector = StillPositionDetector(hasGyroscope: hasGyroscope)
        self.replaced = replaced
        (lastSample, lastPosition) = (boot, boot)
    }

    /// Whether the device lies in a position that was found.
    package var isStill: Bool { detector.isStill }

    /// All positions with how to lay the device, and whether it has lain there. The sides may come in any order.
    package var positions: [(instruction: String, isDone: Bool)] {
        InertialCalibrator.sides.map { ($0.instruction, calibrator.faces[$0] != nil) }
            + (0..<InertialCalibrator.checks).map { (Self.tilt, $0 < calibrator.tilted.count) }
    }

    /// What to do next; nil if there are enough positions.
    package var next: String? {
        guard !calibrator.isComplete else { return nil }
        let instruction = calibrator.missing.first?.instruction ?? Self.tilt
        return "\(calibrator.count + 1) of \(positions.count): \(instruction), and leave it alone for three seconds"
    }

    private static let tilt = "lean it against something, on an edge or a corner"

    /// Adds live samples, until there are enough positions.
    /// - Returns: a note on each position that was found.
    /// - Throws: ``InertialCalibrationError`` if the readings are impossible.
    package mutating func add(_ samples: SampleBlock, at boot: Int64) throws(InertialCalibrationError) -> [String] {
        lastSample = boot
        var notes: [String] = []
        for position in detector.add(replaced?.uncalibrated(samples) ?? samples) where !calibrator.isComplete {
            if try calibrator.add(position) {
                lastPosition = boot
                let size = resolved(length(position.acceleration), decimals: 4)
                notes.append("found \(position.face?.rawValue ?? "a tilted position"): |a| is \(size) g")
            } else {
                notes.append(
                    "at rest, but not used: "
                        + (position.face == nil && calibrator.missing.isEmpty
                            ? "tilt it further, and in another direction than before"
                            : "this position was used already, or is between two sides"))
            }
        }
        return notes
    }

    /// Why the guidance cannot go on; nil if it can.
    /// - Parameters:
    ///   - patience: the time in which the device must be laid in a new position, in µs.
    ///   - isConnected: whether samples can arrive. They are awaited anew after a time in which they could not.
    package mutating func problem(at boot: Int64, patience: Int64, isConnected: Bool = true) -> String? {
        if !isConnected { lastSample = boot }
        if boot - lastSample >= Self.maxSilence {
            return
                "no samples for 20 s: check with 'lockstep doctor' that its agent runs, and that its --window is not "
                + "longer"
        }
        return boot - lastPosition < patience ? nil : "it was not laid in a new position in time: nothing was changed"
    }
}

extension DeviceOrientation {
    /// How to lay the device so that it has this orientation.
    fileprivate var instruction: String {
        switch self {
        case .faceUp: "lay it flat, its screen up (z up)"
        case .faceDown: "lay it flat, its screen down (z down)"
        case .portrait: "stand it upright, its top edge up (y up)"
        case .portraitUpsideDown: "stand it upside down, its top edge down (y down)"
        case .landscapeLeft: "stand it on its left edge, its right edge up (x up)"
        case .landscapeRight: "stand it on its right edge, its left edge up (x down)"
        }
    }
}
