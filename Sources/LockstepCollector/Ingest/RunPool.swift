import LockstepModel
import LockstepStore

/// Empty runs of groups that were written, by the number of their stream, to use their memory again. Allocating it again would
/// take longer than decoding a small message.
struct RunPool {
    /// The number of samples up to which the memory of a run is kept for another one.
    static let maxSamples = 64
    /// The number of runs of a stream whose memory is kept.
    private static let maxRuns = 4096

    private var runs: [[SampleRun]]

    init(streams: Int) { runs = Array(repeating: [], count: streams) }

    /// Keeps the memory of the runs of a group that was written.
    mutating func recycle(_ written: consuming [SampleRun]) {
        while let run = written.popLast() {
            guard run.samples.count <= Self.maxSamples, let number = run.streamNumber,
                runs[number].count < Self.maxRuns
            else { continue }
            runs[number].append(run)
        }
    }

    /// Takes an empty run of a device, or nil if there is none for this number of samples.
    mutating func take(stream: Int?, of device: DeviceAddress?, samples: Int) -> SampleRun? {
        guard samples <= Self.maxSamples, let stream, let device, var run = runs[stream].popLast() else { return nil }
        run.reset(to: device)
        return run
    }
}
