import LockstepModel
public import LockstepStore

/// What any kind of store must do with rules about a device that is forgotten and returns.
public struct ForgottenRules {
    /// The rules that the store's observer evaluates, as YAML.
    public static let rules = """
        targets: {bus: {mqtt: event}}
        rules:
          gone: {when: {state: [background], for: 1h}, to: bus}
        """
    private static let start: Int64 = 1_700_000_000_000_000
    private let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))

    public init() {}

    /// Writes transitions and times to a store whose observer has ``rules``.
    /// - Returns: the numbers of notifications after the first silence of the device, after its return, and after the
    ///   silence that follows a return without a transition.
    public func evaluate(_ store: any SampleStore, isForgotten: Bool) throws -> [Int] {
        try store.write(group(1, .background, at: 0, isForgotten: false))
        try store.write(group(1, .background, at: 0, isForgotten: isForgotten, hasTransition: false))
        let first = try store.write(tick(2)).deliveries.count
        try store.write(group(2, .resumed, at: 3, isForgotten: false))
        try store.write(group(3, .background, at: 4, isForgotten: false))
        let second = try store.write(tick(6)).deliveries.count

        // A backlog or a presence may bring a device back without a transition.
        try store.write(group(4, .resumed, at: 7, isForgotten: false))
        try store.write(group(5, .background, at: 8, isForgotten: isForgotten))
        try store.write(group(5, .background, at: 8, isForgotten: false, hasTransition: false))
        return [first, second, try store.write(tick(10)).deliveries.count]
    }

    /// - Parameter hours: the time of the transition in hours after the start.
    private func group(
        _ seq: Int64, _ state: LifecycleState, at hours: Int64, isForgotten: Bool, hasTransition: Bool = true
    ) -> IngestGroup {
        let transition = LifecycleTransition(from: nil, to: state, since: time(hours), reason: "test", seq: seq)
        var snapshot = LifecycleSnapshot(last: transition)
        snapshot.isForgotten = isForgotten
        return IngestGroup(
            transitions: hasTransition ? [DeviceTransition(device: device, transition: transition)] : [],
            lifecycles: [device: snapshot])
    }

    private func tick(_ hours: Int64) -> IngestGroup {
        var group = IngestGroup()
        let boot = Moment.now().boot + hours * 3_600_000_000
        group.tick = IngestGroup.Tick(at: Moment(wall: time(hours), boot: boot, awake: boot), listeningSince: 0)
        return group
    }

    private func time(_ hours: Int64) -> Timestamp { Timestamp(microseconds: Self.start + hours * 3_600_000_000) }
}
