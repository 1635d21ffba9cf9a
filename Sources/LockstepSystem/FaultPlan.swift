/// The faults of a run: what fails when, as a share of the running time. A pure value.
public struct FaultPlan: Sendable {
    /// What happens.
    public enum Action: Hashable, Sendable {
        /// The part is killed with SIGKILL and stays down.
        case kill(String)
        /// The part is stopped with SIGTERM and stays down.
        case stop(String)
        /// The part is started again.
        case restart(String)
        /// The network of a device fails: its connection is cut.
        case disconnect(String)
        /// The network of a device is restored.
        case reconnect(String)
    }

    /// An action and its time.
    public struct Step: Hashable, Sendable {
        /// The time, as a share of the running time from 0 to 1.
        public var share: Double
        /// What happens.
        public var action: Action
    }

    /// All steps, in order.
    public private(set) var steps: [Step]
    /// The device whose network fails; nil if none does.
    public let disconnected: String?

    /// Plans the kills of an agent, the collector, the broker and, if there is one, the page, and the failure of the
    /// network of a device. Each fault is over before the next one begins.
    /// - Parameters:
    ///   - devices: the devices, at least one.
    ///   - hasPage: whether there is a page.
    public init(devices: [String], hasPage: Bool) {
        let killed = devices[0]
        let disconnected = devices[min(1, devices.count - 1)]
        self.disconnected = disconnected
        var faults: [(Action, Action, Double, Double)] = [
            (.kill(killed), .restart(killed), 0.10, 0.22),
            (.disconnect(disconnected), .reconnect(disconnected), 0.27, 0.45),
            (.kill("collector"), .restart("collector"), 0.50, 0.62),
            (.kill("broker"), .restart("broker"), 0.66, 0.76),
        ]
        if hasPage { faults.append((.kill("page"), .restart("page"), 0.80, 0.86)) }
        steps = faults.flatMap { [Step(share: $0.2, action: $0.0), Step(share: $0.3, action: $0.1)] }
    }

    /// Plans the faults of a cluster: a program of each kind is killed, and a collector is stopped. Each fault is over before
    /// the next one begins, except for the last two.
    /// - Parameter keeper: the keeper to kill; nil if there is none.
    public init(
        collectors: (killed: String, stopped: String), store: String, keeper: String?, broker: String, page: String
    ) {
        var faults: [(Action, Action, Double, Double)] = [
            (.kill(collectors.killed), .restart(collectors.killed), 0.10, 0.26),
            (.kill(store), .restart(store), 0.34, 0.40),
        ]
        if let keeper { faults.append((.kill(keeper), .restart(keeper), 0.50, 0.58)) }
        faults.append((.kill(broker), .restart(broker), 0.64, 0.66))
        steps = faults.flatMap { [Step(share: $0.2, action: $0.0), Step(share: $0.3, action: $0.1)] }
        steps += [
            Step(share: 0.77, action: .stop(collectors.stopped)), Step(share: 0.77, action: .kill(page)),
            Step(share: 0.87, action: .restart(collectors.stopped)), Step(share: 0.87, action: .restart(page)),
        ]
        disconnected = nil
    }

    /// The end of the fault that has begun and is not over; nil if there is none.
    public var ending: Action? {
        switch steps.first?.action {
        case .restart, .reconnect: steps.first?.action
        case .kill, .stop, .disconnect, nil: nil
        }
    }

    /// Removes and returns the next action if its time has come.
    public mutating func next(at share: Double) -> Action? {
        guard let step = steps.first, share >= step.share else { return nil }
        steps.removeFirst()
        return step.action
    }
}
