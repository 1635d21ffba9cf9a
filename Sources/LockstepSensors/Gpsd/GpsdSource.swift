public import LockstepModel

/// The satellite receivers of a gpsd, through its JSON protocol over TCP (`gpsd_json(5)`).
///
/// Gives one `location` sample for each fix, however often gpsd repeats it (see ``FixAssembler``). Columns: `lat`,
/// `lon`; `alt` is gpsd's `altMSL`, or else `alt`; `hacc` is `eph`, or else the hypotenuse of `epx` and `epy`; `vacc`
/// is `epv`; gpsd's errors are such that 95 % of fixes are within. `course` is `track`, `fix` is `mode`, and `at` is
/// the receiver's own time: passed on as it is, even where a receiver is wrong by twenty years.
///
/// When the fix is lost, or there is none from the start, one sample without position says so, with `fix` 1. The
/// source reconnects by itself, after 0.5 s to 30 s. While nobody wants locations it hangs up, and gpsd may let the
/// receiver sleep.
public struct GpsdSource: SensorSource {
    public let address: GpsdAddress
    public let stamping: Stamping
    /// The age of the last fix, in s, from which on the source is reported as stale.
    public let staleAfter: Double

    private let interest = DemandSignal()

    /// - Parameters:
    ///   - stamping: ``Stamping/now``: a sample's timestamp is when its first report arrived. ``Stamping/own``: the
    ///     receiver's time; a fix without one, or not later than the one before, is dropped and counted in the status.
    ///   - staleAfter: s above 0.
    public init(address: GpsdAddress = GpsdAddress(), stamping: Stamping = .now, staleAfter: Double = 10) {
        self.address = address
        self.stamping = stamping
        self.staleAfter = min(max(staleAfter, 0.1), 1e9)
    }

    /// `gpsd://HOST:PORT`.
    public var name: String { "gpsd://\(address)" }

    public var streams: [SensorStream] { [.location] }

    public func setRates(_ rates: [SensorStream: Double]) { interest.set(rates[.location] != nil) }

    /// Reads until the task is cancelled.
    /// - Throws: ``GpsdConnectionError`` only if this process has no file descriptor left to begin with.
    public func run(into sink: any SampleSink) async throws {
        while !Task.isCancelled {
            let sockets = try GpsdSockets()
            await withTaskCancellationHandler {
                interest.onLoss { sockets.wake() }
                await run(into: sink, through: sockets)
            } onCancel: {
                sockets.wake()
            }
            await interest.wait()
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
            // Only a cancelled task wakes early, and the loop sees that.
            try? await Task.sleep(for: .seconds(backoff.next(using: &generator)))
        }
    }

    /// Until gpsd closes the connection or the task is cancelled.
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
