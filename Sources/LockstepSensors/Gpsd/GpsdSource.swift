public import LockstepModel

/// The satellite receivers of gpsd, through its JSON protocol over TCP (`gpsd_json(5)`).
///
/// The reports of several receivers are never combined into one fix. All receivers provide samples unless the address
/// names one of them.
///
/// Provides one `location` sample per fix, however often gpsd repeats it (see `FixAssembler`). Columns: `lat`, `lon`;
/// `alt` is gpsd's `altMSL`, otherwise `alt`; `hacc` is `eph`, otherwise √(`epx`² + `epy`²); `vacc` is `epv` (both with
/// 95 % confidence). `course` is `track`, `fix` is `mode`, and `at` is the receiver's own time, unchanged even if it is
/// wrong.
///
/// If there is no fix, or the fix is lost, the source provides one sample without position and with `fix` 1. After a
/// lost connection it reconnects within 0.5 s to 30 s. While locations are not requested it disconnects, so that gpsd
/// can put the receiver to sleep.
public struct GpsdSource: SensorSource {
    /// The address of gpsd.
    public let address: GpsdAddress
    /// The clock of the samples' timestamps.
    public let stamping: Stamping
    /// The age in s at which the last fix is reported as stale.
    public let staleAfter: Double

    private let demand = DemandSignal()

    /// Creates a source that connects to gpsd at `address`.
    /// - Parameters:
    ///   - stamping: With ``Stamping/now``, a sample's timestamp is the arrival time of its first report. With
    ///     ``Stamping/own``, it is the receiver's time; a fix without a time, or far in the future (see
    ///     `FutureFixes`), is dropped and counted in the status. A time that steps back is counted there too, and its
    ///     fixes are kept (see `ReceiverStamps`).
    ///   - staleAfter: The age in s at which the last fix is reported as stale; limited to 0.1…1e9.
    public init(address: GpsdAddress = GpsdAddress(), stamping: Stamping = .now, staleAfter: Double = 10) {
        self.address = address
        self.stamping = stamping
        self.staleAfter = min(max(staleAfter, 0.1), 1e9)
    }

    /// The name of the source, `gpsd://HOST:PORT`, and the path of the chosen receiver if there is one.
    public var name: String { "gpsd://\(address)" }

    /// The stream of locations.
    public var streams: [SensorStream] { [.location] }

    /// Sets the requested rates. The source disconnects while locations are not requested.
    public func setRates(_ rates: [SensorStream: Double]) { demand.set(rates[.location] != nil) }

    /// Reads fixes until the task is cancelled.
    /// - Throws: `GpsdConnectionError` if the process has no free file descriptors.
    public func run(into sink: any SampleSink) async throws {
        while !Task.isCancelled {
            let sockets = try GpsdSockets()
            await withTaskCancellationHandler {
                demand.onIdle { sockets.wake() }
                await run(into: sink, through: sockets)
            } onCancel: {
                sockets.wake()
            }
            await demand.wait()
        }
    }

    private func run(into sink: any SampleSink, through sockets: GpsdSockets) async {
        var conversation = GpsdConversation(
            stamping: stamping, device: address.device, assembler: FixAssembler(staleAfter: Int64(staleAfter * 1e6)))
        var backoff = Backoff(initial: .seconds(1))
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
            await perform(conversation.disconnected("gpsd at \(address.endpoint): \(reason)"), on: sink)
            // Only cancellation ends the sleep early, and the loop checks for it.
            try? await Task.sleep(for: backoff.next(using: &generator))
        }
    }

    /// Processes reports until gpsd closes the connection or the task is cancelled.
    private func converse(
        on connection: GpsdConnection, _ conversation: inout GpsdConversation, _ sink: any SampleSink
    ) async throws(GpsdConnectionError) {
        try await connection.send("?WATCH={\"enable\":true,\"json\":true};\n")
        while !Task.isCancelled {
            let actions: [GpsdConversation.Action]
            switch try await connection.receive(until: conversation.nextDeadline) {
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
