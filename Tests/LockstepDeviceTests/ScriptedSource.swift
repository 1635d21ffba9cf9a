import LockstepModel
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport
import Synchronization

/// A source that delivers the samples and statuses of a test and records its requests.
final class ScriptedSource: SensorSource {
    struct State {
        /// The last requested rates.
        var rates: [SensorStream: Double] = [:]
        /// The number of runs that have started.
        var starts = 0
        /// The number of current runs.
        var running = 0
        var sink: (any SampleSink)?
        /// Resumes the current run with the error to throw, or nil to end.
        var continuation: CheckedContinuation<(any Error)?, Never>?
    }

    struct Failure: Error, Equatable {}

    let name: String
    let streams: [SensorStream]
    let state = Mutex(State())

    init(_ streams: [SensorStream], name: String = "scripted") {
        self.streams = streams
        self.name = name
    }

    func nativeRate(of stream: SensorStream) -> Double? { 100 }
    func setRates(_ rates: [SensorStream: Double]) { state.withLock { $0.rates = rates } }

    func run(into sink: any SampleSink) async throws {
        let failure = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = Task.isCancelled
                state.withLock { state in
                    state.starts += 1
                    state.running += 1
                    state.sink = sink
                    state.continuation = isCancelled ? nil : continuation
                }
                if isCancelled { continuation.resume(returning: nil) }
            }
        } onCancel: {
            end()
        }
        state.withLock { state in
            state.running -= 1
            state.sink = nil
        }
        if let failure { throw failure }
    }

    /// Ends the run, with an error if one is given.
    func end(_ failure: (any Error)? = nil) {
        state.withLock { state in
            defer { state.continuation = nil }
            return state.continuation
        }?.resume(returning: failure)
    }

    /// Waits until the source runs, and delivers samples.
    func deliver(_ samples: SampleBlock) async throws {
        let sink = try await running()
        await sink.accept(samples, clock: .own)
    }

    /// Waits until the source runs, and reports a status.
    func report(_ status: SourceStatus) async throws { try await running().report(status, from: name) }

    private func running() async throws -> any SampleSink {
        try await wait { state in state.sink != nil }
        guard let sink = state.withLock({ $0.sink }) else { throw FileError(reason: "the source has stopped") }
        return sink
    }

    /// Waits until `isMet` returns true for the state of the source, for at most two minutes.
    func wait(until isMet: (borrowing State) -> Bool) async throws {
        try await LockstepDeviceTests.wait { state.withLock { isMet($0) } }
    }
}

/// Waits until `isMet` returns true, for at most two minutes.
func wait(until isMet: () -> Bool) async throws {
    guard await eventually(within: .seconds(120), isMet) else {
        throw FileError(reason: "the condition was not met within two minutes")
    }
}
