import Testing

@testable import LockstepAgent

@Suite("The window of the link to the broker")
struct LinkWindowTests {
    /// A link, and the times in s between which it must be used.
    struct Link: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var model: SimulatedLink
        var phases: [(start: Double, end: Double)] = [(20, 110), (110, 300)]

        init(
            _ name: String, rate: Double, latency: Double, live: [Int], backlog: Int = 2600,
            returnRate: Double = 1_000_000
        ) {
            testDescription = name
            var model = SimulatedLink()
            model.rate = { _ in rate }
            model.latency = { _ in latency }
            model.liveSizes = live
            model.backlogSize = backlog
            model.returnRate = returnRate
            self.model = model
        }
    }

    private static let links = [
        Link("a satellite modem", rate: 2500, latency: 2, live: [270]),
        Link("a satellite modem, small batches", rate: 2500, latency: 2, live: [270, 150], backlog: 300),
        Link("NB-IoT", rate: 2500, latency: 0.8, live: [200, 200, 200]),
        Link("1 Mbit/s", rate: 125_000, latency: 0.05, live: [2600, 2600]),
        Link("1 Mbit/s, latency 100 ms", rate: 125_000, latency: 0.1, live: [2600, 2600, 2600, 2600]),
        Link("1 Mbit/s, tiny batches", rate: 125_000, latency: 0.1, live: [150], backlog: 150),
        Link("a geostationary satellite", rate: 256_000, latency: 0.3, live: [2600, 2600, 2600, 2600]),
        Link("a slow way back", rate: 50_000, latency: 0.05, live: [2600, 500], returnRate: 2000),
        Link("a local network", rate: 10_000_000, latency: 0.0002, live: [2600]),
    ]

    @Test(
        "backlog uses the link, and live samples are at most 1.5 times as old as without it", arguments: links,
        [nil, 20, 10] as [Int?])
    func used(link: Link, maxInFlight: Int?) {
        var link = link
        link.model.maxInFlight = maxInFlight
        let isFast = link.model.rate(0) > 1_000_000
        let phases = isFast ? [(1.0, 4.0)] : link.phases
        let seconds = isFast ? 4.0 : 300
        let delivered = link.model.run(seconds: seconds)
        var quiet = link.model
        quiet.hasBacklog = false
        let alone = quiet.run(seconds: seconds)
        for (start, end) in phases {
            let use = link.model.use(of: delivered, from: start, to: end)
            let age = link.model.age(of: delivered, from: start, to: end)
            let least = quiet.age(of: alone, from: start, to: end)
            #expect(use >= 0.85, "\(start) s to \(end) s")
            let inFlight = delivered.filter { $0.sentAt >= start }.map(\.inFlight).max() ?? 0
            #expect(isFast || inFlight <= maxInFlight ?? .max, "\(start) s to \(end) s")
            #expect(age <= 1.5 * least, "\(start) s to \(end) s: \(age) s, alone \(least) s")
        }
    }

    @Test("a backlog without live data uses the link, too")
    func backlogAlone() {
        let link = Link("", rate: 2500, latency: 2, live: [])
        #expect(link.model.use(of: link.model.run(seconds: 300), from: 20, to: 300) >= 0.85)
    }

    @Test("the window follows the rate of the link in both directions")
    func jump() {
        var link = SimulatedLink()
        link.liveSizes = [1000]
        link.rate = { $0 < 60 ? 125_000 : $0 < 120 ? 12_500 : 250_000 }
        let delivered = link.run(seconds: 200)
        var quiet = link
        quiet.hasBacklog = false
        let alone = quiet.run(seconds: 200)
        for (start, end) in [(10, 58), (70, 118), (130, 200)] as [(Double, Double)] {
            #expect(link.use(of: delivered, from: start, to: end) >= 0.85)
            let age = link.age(of: delivered, from: start, to: end)
            #expect(age <= 1.5 * quiet.age(of: alone, from: start, to: end), "\(start) s to \(end) s")
        }
    }

    @Test("the window follows a longer way within three minutes")
    func longerWay() {
        var link = SimulatedLink()
        link.latency = { $0 < 60 ? 0.1 : 0.6 }
        let delivered = link.run(seconds: 400)
        #expect(link.use(of: delivered, from: 250, to: 400) >= 0.85)
    }

    @Test("one message is in flight even if it is larger than the window")
    func largeMessage() {
        var window = LinkWindow()
        window.didPublish(1, bytes: 1_000_000, isBacklog: true, at: 0)
        #expect(!window.isOpen)
        window.didReceivePuback(1, at: 8_000_000)
        #expect(window.isOpen)
    }

    @Test("live data is in flight besides the backlog, and refused and unknown messages do not stay")
    func bookkeeping() {
        var window = LinkWindow()
        window.didPublish(1, bytes: 100_000, isBacklog: false, at: 0)
        #expect(!window.isOpen, "live data uses the link, too")
        window.didRefuse(1)
        window.didReceivePuback(7, at: 10)
        #expect(window.isOpen)
    }

    @Test("the number of backlog messages leaves room for live ones")
    func count() {
        var window = LinkWindow()
        var id: Int32 = 0
        while window.isOpen, id < 2000 {
            id += 1
            window.didPublish(id, bytes: 1, isBacklog: true, at: 0)
        }
        #expect(Int(id) < DeviceDelivery.maxInFlight)
    }
}
