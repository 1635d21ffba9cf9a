public import LockstepModel

/// The satellite receivers of a gpsd, through its JSON protocol over TCP (`gpsd_json(5)`).
///
/// Provides one `location` sample per fix, however often gpsd repeats it (see `FixAssembler`). Columns: `lat`, `lon`;
/// `alt` is gpsd's `altMSL`, otherwise `alt`; `hacc` is `eph`, otherwise the hypotenuse of `epx` and `epy`; `vacc` is
/// `epv`; 95 % of the errors are smaller than these values. `course` is `track`, `fix` is `mode`, and `at` is the
/// receiver's own time, unchanged even if the receiver is wrong by twenty years.
///
/// If there is no fix, or the fix is lost, one sample without position and with `fix` 1 is provided. The source
/// reconnects after 0.5 s to 30 s. While locations are not requested it disconnects, and gpsd may let the receiver
/// sleep.
public struct GpsdSource: SensorSource {
    /// The address of gpsd.
    public let address: GpsdAddress
    /// The timestamps of the samples.
    public let stamping: Stamping
    /// The age of the last fix from which the source is reported as stale, in s.
    public let staleAfter: Double

    private let demand = DemandSignal()

    /// - Parameters:
    ///   - stamping: ``Stamping/now``: a sample's timestamp is the arrival of its first report. ``Stamping/own``: it is the
    ///     receiver's time; a fix whose time is missing or not later than the previous one is dropped and counted in the
    ///     status.
    ///   - staleAfter: the age of the last fix at which the source is reported as stale, in s, above 0.
    public init(address: GpsdAddress = GpsdAddress(), stamping: Stamping = .now, staleAfter: Double = 10) {
        self.address = address
        self.stamping = stamping
        self.staleAfter = min(max(staleAfter, 0.1), 1e9)
    }

    /// `gpsd://HOST:PORT`.
    public var name: String { "gpsd://\(address)" }

    /// `location`.
    public var streams: [SensorStream] { [.location] }

    /// Disconnects while locations are not requested.
    public func setRates(_ rates: [SensorStream: Double]) { demand.set(rates[.location] != nil) }

    /// Reads until the task is cancelled.
    /// - Throws: `GpsdConnectionError` only if no file descriptor is left.
    public func run(into sink: any SampleSink) async throws {
        while !Task.isCancelled {
            let sockets = try GpsdSockets()
            await withTaskCancellationHandler {
                demand.onLoss { sockets.wake() }
                await run(into: sink, through: sockets)
            } onCancel: {
                sockets.wake()
            }
            await demand.wait()
        }
    }

    private func run(into sink: any SampleSink, through sockets: GpsdSockets) async {
        var conversation = GpsdConversation(
            stamping: stamping, assembler: FixAssembler(staleAfter: Int64(staleAfter * 1e6)))
        var backoff = Backoff()
        var generator = SystemRandomNumberGenerator()
        while !Task.isCancelled, !sockets.isWoken {
            let reason: String
            do {
                let connection = try await sockets.connect(to: address)
                try await converse(on: connection, &conversation, sink)
                reason = "the connection was closed"
            } catch {
                reason = error.reason
            }
            if conversation.isGreeted { backoff.reset() }
            if Task.isCancelled || sockets.isWoken { return }
            await perform(conversation.disconnected("gpsd at \(address): \(reason)"), on: sink)
            // Only cancellation ends the sleep early, and the loop checks for it.
            try? await Task.sleep(for: .seconds(backoff.next(using: &generator)))
        }
    }

    /// Processes reports until gpsd closes the connection or the task is cancelled.
    private func converse(
        on connection: GpsdConnection, _ conversation: inout GpsdConversation, _ sink: any SampleSink
    ) async throws(GpsdConnectionError) {
        try await connection.send("?WATCH={\"enable\":true,\"json\":true};\n")
        while !Task.isCancelled {
            let actions: [GpsdConversation.Action]
            switch try await connection.receive(until: conversation.assembler.nextDeadline) {
            case .bytes(let bytes): actions = conversation.receive(bytes, at: Moment.now().boot)
            case .deadline: actions = conversation.advance(to: Moment.now().boot)
            case .closed: return
            }
            await perform(actions, on: sink)
        }
    }

    private func perform(_ actions: [GpsdConversation.Action], on sink: any SampleSink) async {
        for action in actions {
            switch action {
            case .sample(let block): await sink.accept(block, clock: stamping == .own ? .own : .boot)
            case .report(let status): sink.report(status, from: name)
            }
        }
    }
}
