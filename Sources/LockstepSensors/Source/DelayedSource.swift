public import LockstepModel

/// The delays of a source's samples: how much later than the measured moment their timestamps are.
///
/// Causes are the low-pass filter of a sensor (its group delay), the time between a measurement and the interrupt that is
/// stamped, and the time that a GPS receiver needs to compute and send a fix.
public struct SourceDelays: Sendable, Hashable {
    /// The largest delay, in µs.
    public static let maximum: Int64 = 10_000_000

    /// The delay of streams without an entry in `streams`, in µs.
    public var common: Int64
    /// The delays of single streams, in µs.
    public var streams: [SensorStream: Int64]

    /// Creates delays.
    public init(common: Int64 = 0, streams: [SensorStream: Int64] = [:]) {
        self.common = common
        self.streams = streams
    }

    /// Whether there is no delay.
    public var isEmpty: Bool { common == 0 && streams.values.allSatisfy { $0 == 0 } }

    /// Returns the samples with the times of the measured moments.
    ///
    /// Times of the source's own clock remain unchanged: a GPS receiver states the moment that a fix describes.
    public func corrected(_ samples: SampleBlock, clock: SampleClock) -> SampleBlock {
        let delay = streams[samples.stream] ?? common
        guard delay != 0, clock == .boot else { return samples }
        var columns = samples.columns
        for (index, column) in samples.stream.columns.enumerated() where column.isTime {
            columns[index] = columns[index].map { $0 - Double(delay) }
        }
        return SampleBlock(stream: samples.stream, times: samples.times.map { $0 - delay }, columns: columns)
    }
}

/// A source whose timestamps are corrected by known delays.
public struct DelayedSource: SensorSource {
    private let source: any SensorSource
    private let delays: SourceDelays

    /// Creates a source with the samples of `source`.
    public init(_ source: any SensorSource, delays: SourceDelays) {
        self.source = source
        self.delays = delays
    }

    public var name: String { source.name }
    public var streams: [SensorStream] { source.streams }
    public func sensors() -> [SensorDescription] { source.sensors() }
    public func nativeRate(of stream: SensorStream) -> Double? { source.nativeRate(of: stream) }
    public func setRates(_ rates: [SensorStream: Double]) { source.setRates(rates) }

    public func run(into sink: any SampleSink) async throws {
        try await source.run(into: CorrectingSink(sink: sink, delays: delays))
    }

    private struct CorrectingSink: SampleSink {
        let sink: any SampleSink
        let delays: SourceDelays

        func accept(_ samples: SampleBlock, clock: SampleClock) async {
            await sink.accept(delays.corrected(samples, clock: clock), clock: clock)
        }

        func report(_ status: SourceStatus, from source: String) { sink.report(status, from: source) }
    }
}
