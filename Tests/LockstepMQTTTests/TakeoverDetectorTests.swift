import Testing

@testable import LockstepMQTT

@Suite("Takeover detector")
struct TakeoverDetectorTests {
    private var detector = TakeoverDetector()
    private var now = ContinuousClock.now

    /// Connects and loses the connection.
    /// - Returns: whether the detector reports a takeover.
    private mutating func connection(
        hasLostSession: Bool = false, after connectTime: Duration = .zero, for duration: Duration = .seconds(1),
        _ code: MQTTError.Code = .connectionLost,
        isListening: Bool = true
    ) -> Bool {
        now += .seconds(1)
        detector.didConnect(hasLostSession: hasLostSession, after: connectTime, at: now)
        now += duration
        return detector.didLose(code, isListening: isListening, at: now)
    }

    @Test("a takeover that the broker reports is detected at once")
    mutating func reported() {
        let isTakenOver = connection(for: .seconds(60), .takenOver, isListening: false)
        #expect(isTakenOver)
    }

    @Test("the third and every further successive short connection is a takeover")
    mutating func successive() {
        for isExpected in [false, false, true, true] {
            let isTakenOver = connection()
            #expect(isTakenOver == isExpected)
        }
    }

    @Test("a long connection resets the count")
    mutating func longConnection() {
        for (duration, isExpected) in [
            (400, false), (400, false), (1300, false), (1100, false), (1100, false), (1100, true),
        ] {
            let isTakenOver = connection(for: .milliseconds(duration))
            #expect(isTakenOver == isExpected)
        }
    }

    @Test("on a slow link, a short connection is longer, because the other client needs longer to connect")
    mutating func slowLink() {
        // The backoff delay, and a way to the broker of 600 ms and back.
        for isExpected in [false, false, true] {
            let isTakenOver = connection(after: .milliseconds(1200), for: .milliseconds(2900))
            #expect(isTakenOver == isExpected)
        }
        #expect(detector.probeLimit == .milliseconds(1450))
        for _ in 0..<3 {
            let isTakenOver = connection(after: .seconds(60), for: .seconds(6))
            #expect(!isTakenOver, "another reason than the link")
        }
    }

    @Test("a network that cuts each connection after two seconds is not a takeover")
    mutating func unstableNetwork() {
        for _ in 0..<30 {
            // Without the backoff delay and the time to connect.
            let isTakenOver = connection(for: .milliseconds(1400))
            #expect(!isTakenOver)
        }
    }

    @Test("a failed connect resets the count, because the broker was down")
    mutating func failure() {
        for _ in 0..<2 {
            let isTakenOver = connection()
            #expect(!isTakenOver)
        }
        detector.didFail()
        for isExpected in [false, false, true] {
            let isTakenOver = connection()
            #expect(isTakenOver == isExpected)
        }
    }

    @Test("a lost session resets the count, because the broker was restarted")
    mutating func lostSession() {
        for _ in 0..<10 {
            let isTakenOver = connection(hasLostSession: true)
            #expect(!isTakenOver)
        }
        for isExpected in [false, true] {
            let isTakenOver = connection()
            #expect(isTakenOver == isExpected)
        }
    }

    @Test("a broker that is killed repeatedly is not a takeover, because it does not listen after the loss")
    mutating func killedBroker() {
        for _ in 0..<10 {
            let isTakenOver = connection(isListening: false)
            #expect(!isTakenOver)
        }
    }

    @Test("one loss after which the broker does not listen resets the count")
    mutating func killedOnce() {
        for (isListening, isExpected) in [
            (true, false), (true, false), (false, false), (true, false), (true, false), (true, true),
        ] {
            let isTakenOver = connection(isListening: isListening)
            #expect(isTakenOver == isExpected)
        }
    }

    @Test("a connection that ends with another error resets the count")
    mutating func dropped() {
        for code in [.connectionLost, .connectionLost, .other, .connectionLost, .connectionLost] as [MQTTError.Code] {
            let isTakenOver = connection(code)
            #expect(!isTakenOver)
        }
    }

    @Test("the broker is contacted only after the second short connection in a row")
    mutating func contact() {
        var contacts = 0
        func isListening() -> Bool {
            contacts += 1
            return true
        }
        for count in [0, 1, 2] {
            detector.didConnect(hasLostSession: false, after: .zero, at: now)
            _ = detector.didLose(.connectionLost, isListening: isListening(), at: now)
            #expect(contacts == count)
        }
        detector.didConnect(hasLostSession: false, after: .zero, at: now)
        _ = detector.didLose(.connectionLost, isListening: isListening(), at: now + .seconds(10))
        #expect(contacts == 2)
    }
}
