import LockstepModel
import LockstepSensors
import LockstepTestSupport
import SensorTestSupport
import Synchronization

/// A source that delivers what the test provides and records its requests.
final class ScriptedSource: SensorSource {
    struct State {
        var rates: [SensorStream: Double] = [:]
        /// The number of starts.
        var starts = 0
        var running = 0
        var sink: (any SampleSink)?
        var steps: CheckedContinuation<(any Error)?, Never>?
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
                    state.steps = isCancelled ? nil : continuation
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

    /// Ends the run.
    func end(_ failure: (any Error)? = nil) {
        state.withLock { state in
            defer { state.steps = nil }
            return state.steps
        }?.resume(returning: failure)
    }

    /// Waits until it runs, and delivers samples.
    func deliver(_ samples: SampleBlock) async throws {
        let sink = try await running()
        await sink.accept(samples, clock: .own)
    }

    func report(_ status: SourceStatus) async throws { try await running().report(status, from: name) }

    private func running() async throws -> any SampleSink {
        try await wait { state in state.sink != nil }
        guard let sink = state.withLock({ $0.sink }) else { throw FileError(reason: "the source has stopped") }
        return sink
    }

    /// Waits for a state of the source, at most two minutes.
    func wait(until isMet: (borrowing State) -> Bool) async throws {
        try await LockstepDeviceTests.wait { state.withLock { isMet($0) } }
    }
}

/// Waits until `isMet`, at most two minutes.
func wait(until isMet: () -> Bool) async throws {
    guard await eventually(within: .seconds(120), isMet) else { throw FileError(reason: "not within two minutes") }
}
