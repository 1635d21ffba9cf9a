import Glibc
import LockstepMotion

/// What a simulated person does with the device, again and again.
public enum SimulatedMotion: String, Sendable, Hashable, CaseIterable {
    /// Stands for 3 s, and walks for about 28 s along a circle.
    case walk
    /// Stands, and shakes the device for 2 s in every 8 s.
    case shake
    /// Holds the device upright, and turns it by 90° about its z axis in every 5 s: portrait, landscape, and so on.
    case turn
    /// Drives along a circle for 110 s, with up to 14 m/s, and waits for 10 s.
    case drive
    /// Stands for 8 s, falls, lies for 7 s, and gets up, in every 20 s.
    case fall

    /// The time after which a motion other than ``walk`` repeats, in s.
    var period: Double {
        switch self {
        case .walk: .infinity
        case .shake: 8
        case .turn: 5
        case .drive: 120
        case .fall: 20
        }
    }

    /// Returns the number of complete periods before `time`, and the time within the current one, in s.
    func split(_ time: Double) -> (cycle: Int, time: Double) {
        let index = max(0, (time / period).rounded(.down))
        return (Int(index), time - index * period)
    }
}

/// A car on a circle, clockwise.
enum Drive {
    static let radius = 150.0
    static let speed = 14.0
    private static let start = 5.0
    private static let ramp = 10.0
    private static let end = 105.0
    /// The distance of one period, in m.
    static let cycle = speed * (end - start)

    /// Returns the part of the full speed at a time within the period.
    static func envelope(_ time: Double) -> Double {
        WalkingPace.smoothStep((time - start) / ramp) - WalkingPace.smoothStep((time - end) / ramp)
    }

    /// Returns the distance since the start of the period, in m.
    static func distance(_ time: Double) -> Double {
        speed * ramp
            * (WalkingPace.smoothStepIntegral((time - start) / ramp)
                - WalkingPace.smoothStepIntegral((time - end) / ramp))
    }

    /// Returns the height of the device by the vibration of the car, 0.02 g at 12 Hz, in m.
    static func vibration(_ time: Double) -> Double {
        envelope(time) * 0.02 * standardGravity / (24 * .pi * 24 * .pi) * sin(24 * .pi * time)
    }
}

/// A fall to the ground: free for 0.4 s, then an impact of 0.1 s.
enum SimulatedFall {
    private static let start = 8.0
    private static let free = 0.4
    private static let impact = 0.1
    private static let rise = 15.0

    /// Returns the part that is done of the turn by 90° with which a person falls and gets up again, 0…1.
    static func turn(_ time: Double) -> Double {
        WalkingPace.smoothStep((time - start) / free) - WalkingPace.smoothStep((time - rise) / 3)
    }

    /// Returns the height over that of the standing person, in m.
    static func height(_ time: Double) -> Double {
        let falling = min(max(time - start, 0), free)
        let stopping = min(max(time - start - free, 0), impact)
        let speed = standardGravity * free
        let depth = standardGravity * falling * falling / 2 + speed * (stopping - stopping * stopping / (2 * impact))
        let lowest = speed * (free + impact) / 2
        return -depth + lowest * WalkingPace.smoothStep((time - rise) / 3)
    }
}

/// Shaking from side to side, 2.2 g at 4 Hz.
enum SimulatedShake {
    private static let frequency = 8 * Double.pi

    /// Returns the position along the line of the shake, in m.
    static func position(_ time: Double) -> Double {
        let envelope = WalkingPace.smoothStep((time - 3) / 0.3) - WalkingPace.smoothStep((time - 4.7) / 0.3)
        return envelope * 2.2 * standardGravity / (frequency * frequency) * sin(frequency * time)
    }
}
