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

    private var wrong: Set<DeviceAddress> = []
    private var news: [News] = []

    var hasNews: Bool { !news.isEmpty }

    /// Records how far the clock of a device is ahead of the collector's, in µs.
    mutating func observe(_ offset: Int64, of device: DeviceAddress) {
        let isWrong = abs(offset) > Self.limit
        guard isWrong ? wrong.insert(device).inserted : wrong.remove(device) != nil else { return }
        news.append(News(device: device, offset: offset, isWrong: isWrong))
    }

    mutating func take() -> [News] {
        defer { news = [] }
        return news
    }
}
