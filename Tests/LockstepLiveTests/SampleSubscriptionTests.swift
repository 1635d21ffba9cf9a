import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Subscriptions to samples")
struct SampleSubscriptionTests {
    private let picture = LivePicture(root: .standard)
    private let left = device("left")
    private let right = device("right")
    private let all = SampleRequest(devices: nil, streams: nil)

    @Test("a subscriber receives the time and rate, then recent samples, then new ones, each sample once")
    func recentAndNew() throws {
        for second in 0..<5 {
            picture.handle(.samples(samples(100, from: Double(second)), of: left), at: Double(second))
        }
        let subscription = try picture.subscribe(to: all, at: moment(4.5))
        let first = subscription.waiting()
        #expect(first.map(\.name) == ["hello", "samples"])
        #expect(first[0].data == #"{"at":1700000004500000,"hz":10}"#)
        #expect(first[1].data.hasPrefix(#"{"group":"lab","device":"left","stream":"motion/accelerometer","t":"#))
        #expect(try first[1].samples().times == samples(500, from: 0).times)
        picture.handle(.samples(samples(100, from: 5), of: left), at: 5)
        #expect(subscription.waiting().isEmpty, "samples are collected for a moment")
        picture.advance(from: 5, to: 5.02)
        let next = subscription.waiting()
        #expect(next.map(\.name) == ["samples"])
        #expect(try next[0].samples() == samples(100, from: 5))
    }

    @Test("a subscriber that arrives while samples are collected for others receives them once")
    func arrivalWhileCollecting() throws {
        let early = try picture.subscribe(to: SampleRequest(devices: nil, streams: nil, hz: 1), at: moment(0))
        picture.handle(.samples(samples(10, from: 0), of: left), at: 0)
        picture.advance(from: 0, to: 0.05)
        for step in 1...4 {
            picture.handle(.samples(samples(10, from: Double(step) / 10), of: left), at: Double(step) / 10)
        }
        // The other subscriber has the first block; the next four wait for the end of its second.
        let request = SampleRequest(devices: [left], streams: [.accelerometer], hz: 1)
        let late = try picture.subscribe(to: request, at: moment(0.45))
        let other = try picture.subscribe(to: SampleRequest(devices: nil, streams: nil, hz: 10), at: moment(0.45))
        picture.handle(.samples(samples(10, from: 0.5), of: left), at: 0.5)
        picture.advance(from: 0.5, to: 1.1)
        let expected = (0...5).flatMap { samples(10, from: Double($0) / 10).times }
        for (name, subscription) in [("early", early), ("late", late), ("other", other)] {
            let events = subscription.waiting()
            let found = try events.filter { $0.name == "samples" }.flatMap { try $0.samples().times }
            #expect(found == expected, "\(name)")
        }
    }

    @Test("devices and streams are filtered, also those that appear later")
    func filters() throws {
        picture.handle(.samples(samples(1, from: 0), of: right), at: 0)
        let requests: [(SampleRequest, [String])] = [
            (all, ["left accelerometer", "left pressure", "right accelerometer", "right pressure"]),
            (SampleRequest(devices: [left], streams: nil), ["left accelerometer", "left pressure"]),
            (SampleRequest(devices: nil, streams: [.pressure]), ["left pressure", "right pressure"]),
            (SampleRequest(devices: [right], streams: [.accelerometer]), ["right accelerometer"]),
            (SampleRequest(devices: [], streams: nil), []),
        ]
        let subscriptions = try requests.map { try picture.subscribe(to: $0.0, at: moment(0)) }
        for subscription in subscriptions { _ = subscription.waiting() }
        for address in [left, right] {
            for stream in [SensorStream.accelerometer, .pressure] {
                picture.handle(.samples(samples(5, of: stream, from: 1), of: address), at: 1)
            }
        }
        picture.advance(from: 1, to: 1.2)
        for (subscription, (_, expected)) in zip(subscriptions, requests) {
            let found = subscription.waiting().map { event in
                (event.data.contains("left") ? "left" : "right")
                    + (event.data.contains("accelerometer") ? " accelerometer" : " pressure")
            }
            #expect(found.sorted() == expected)
        }
    }

    @Test("subscribers with the same rate share the memory of an event")
    func shared() throws {
        let subscriptions = try (0..<3).map { _ in try picture.subscribe(to: all, at: moment(0)) }
        for subscription in subscriptions { _ = subscription.waiting() }
        picture.handle(.samples(samples(100, from: 0), of: left), at: 0)
        picture.advance(from: 0, to: 0.02)
        let addresses = try subscriptions.map { subscription in
            let events = try #require(subscription.subscriber.takeWaiting())
            #expect(events.count == 1)
            return events[0].withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
        #expect(Set(addresses).count == 1)
    }

    @Test("late batches are not live")
    func backlog() throws {
        let subscription = try picture.subscribe(to: all, at: moment(0))
        _ = subscription.waiting()
        picture.handle(.samples(samples(100, from: 0), of: left, isLive: false), at: 1)
        picture.advance(from: 1, to: 2)
        #expect(subscription.waiting().isEmpty)
    }

    @Test("a slow subscriber misses the oldest samples and receives their number; others miss nothing")
    func slow() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(queueBytes: 10_000))
        let slow = try picture.subscribe(to: all, at: moment(0))
        let fast = try picture.subscribe(to: all, at: moment(0))
        _ = slow.waiting()
        _ = fast.waiting()
        for second in 0..<8 {
            picture.handle(.samples(samples(100, from: Double(second)), of: left), at: Double(second))
            picture.advance(from: Double(second), to: Double(second) + 0.02)
            #expect(try fast.waiting().map { try $0.samples().count } == [100])
        }
        let events = slow.waiting()
        #expect(events.first?.name == "dropped")
        let received = try events.dropFirst().flatMap { try $0.samples().times }
        #expect(received.count > 100 && received.last == samples(100, from: 7).times.last)
        #expect(events.first?.data == #"{"samples":\#(800 - received.count)}"#)
        #expect(picture.statistics.droppedSamples == Int64(800 - received.count))
    }

    @Test("a batch that is larger than a subscriber's queue is split, and its newest samples arrive")
    func largeBatch() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(queueBytes: 100_000))
        let subscription = try picture.subscribe(to: all, at: moment(0))
        _ = subscription.waiting()
        let batch = samples(10_000, from: 0)
        picture.handle(.samples(batch, of: left), at: 0)
        picture.advance(from: 0, to: 0.02)
        let received = try subscription.waiting().filter { $0.name == "samples" }.flatMap { try $0.samples().times }
        #expect(received.count >= 1000)
        #expect(received == batch.times.suffix(received.count))
        #expect(picture.statistics.droppedSamples == Int64(batch.count - received.count))
    }

    @Test("recent samples of many streams are limited to the size of a queue, with the same share for each stream")
    func manyRecent() throws {
        for index in 0..<1000 { picture.handle(.samples(samples(100, from: 0), of: device("d\(index)")), at: 0) }
        let subscription = try picture.subscribe(to: all, at: moment(0))
        let chunks = try #require(subscription.subscriber.takeWaiting())
        #expect(chunks.reduce(0) { $0 + $1.count } < 1_000_000)
        let counts = try events(chunks).dropFirst().map { try $0.samples().count }
        #expect(counts.count == 1000 && Set(counts).count == 1 && counts[0] > 5)
        #expect(try events(chunks)[1].samples().times.last == samples(100, from: 0).times.last)
    }

    @Test("recent samples are not older than thirty seconds before the newest")
    func recentAge() throws {
        // One batch of a minute.
        picture.handle(.samples(samples(600, from: 0, interval: 100_000), of: left), at: 60)
        let subscription = try picture.subscribe(to: all, at: moment(60))
        let times = try subscription.waiting()[1].samples().times
        #expect(times.count == 301 && times.last == moment(59.9).wall.microseconds)
    }

    @Test("cancelled subscriptions receive nothing and make room for others")
    func cancellation() throws {
        let picture = LivePicture(root: .standard, limits: LiveLimits(subscribers: 2))
        let first = try picture.subscribe(to: all, at: moment(0))
        var second: LiveSubscription? = try picture.subscribe(to: all, at: moment(0))
        #expect(throws: SubscriptionError.tooManySubscribers(limit: 2)) { try picture.subscribe(to: all) }
        first.cancel()
        #expect(picture.statistics.subscribers == 1)
        _ = try picture.subscribe(to: all, at: moment(0)).waiting()
        #expect(picture.statistics.subscribers == 1, "a released subscription is cancelled")
        picture.handle(.samples(samples(1, from: 0), of: left), at: 0)
        picture.advance(from: 0, to: 0.02)
        #expect(first.waiting().isEmpty)
        #expect(second?.waiting().map(\.name) == ["hello", "samples"])
        second = nil
        #expect(picture.statistics.subscribers == 0)
    }
}
