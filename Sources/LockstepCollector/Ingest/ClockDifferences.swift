import LockstepModel

/// The devices whose clocks differ from the collector's by more than a minute.
struct ClockDifferences {
    /// A device whose clock has begun or ceased to differ.
    struct News: Equatable {
        let device: DeviceAddress
        /// The device's time minus the collector's, in µs.
        let offset: Int64
        let isWrong: Bool
    }

    /// The difference above which a clock is reported, in µs.
    static let limit: Int64 = 60_000_000

    /// How often a device is reported, because each report is logged. One beyond is reported later.
    static let reports = Allowance.Rate(burst: 20, interval: 600_000_000)

    private var wrong: Set<DeviceAddress> = []
    /// The reports of devices that have had a wrong clock.
    private var allowances: [DeviceAddress: Allowance] = [:]
    private var news: [News] = []

    var hasNews: Bool { !news.isEmpty }

    /// Records how far the clock of a device is ahead of the collector's, in µs.
    /// - Parameter boot: the time in µs of the boot clock.
    mutating func observe(_ offset: Int64, of device: DeviceAddress, at boot: Int64) {
        let isWrong = offset.magnitude > Self.limit.magnitude
        guard isWrong != wrong.contains(device),
            allowances[device, default: Allowance()].take(Self.reports, at: boot)
        else { return }
        if isWrong { wrong.insert(device) } else { wrong.remove(device) }
        news.append(News(device: device, offset: offset, isWrong: isWrong))
    }

    mutating func take() -> [News] {
        defer { news = [] }
        return news
    }
}
