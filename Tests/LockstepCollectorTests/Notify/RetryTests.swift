import LockstepModel
import LockstepRules
import LockstepWire
import Testing

@testable import LockstepCollector
@testable import LockstepStore

@Suite struct RetryTests {
    private let left = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))

    private func delivery(_ attempts: Int = 0) -> EventDelivery {
        let event = RuleEvent(
            key: .init(rule: "high", device: left, time: Timestamp(microseconds: 0)), at: Timestamp(microseconds: 0),
            value: 11, text: "a, \"b\"", isLate: false, ways: ["desk"])
        return EventDelivery(
            id: 7, event: StoredEvent(id: 3, event: event), way: "desk", state: .pending,
            attempts: attempts, due: Timestamp(microseconds: 0), error: nil)
    }

    @Test("a receiver that is down for an hour gets 20 attempts, and one within 5 min after it is back")
    func hour() {
        var now = 0.0
        var times = [0.0]
        while now < 3900 {
            let next = RetrySchedule.failure(
                delivery(times.count - 1), "down", isFinal: false,
                at: Timestamp(microseconds: Int64((now * 1e6).rounded())))
            #expect(next.state == .pending && next.attempts == times.count)
            now = Double(next.due.microseconds) / 1e6
            times.append(now)
        }
        #expect(times.count { $0 <= 3600 } == 20)
        #expect(times.contains { $0 > 3600 && $0 <= 3900 })
    }

    @Test("a notification is given up after a day, or if the receiver refuses it")
    func giveUp() {
        let day = Timestamp(microseconds: 86_400_000_000)
        #expect(RetrySchedule.failure(delivery(), "x", isFinal: false, at: day).state == .dead)
        #expect(RetrySchedule.failure(delivery(), "x", isFinal: false, at: day - 1).state == .pending)
        #expect(RetrySchedule.failure(delivery(), "x", isFinal: true, at: Timestamp(microseconds: 1)).state == .dead)
        #expect(
            Transfer.judge(204) == .success && Transfer.judge(422) == .refused("the server answered with status 422"))
        #expect(Transfer.judge(503) == .failed("the server answered with status 503"))
    }

    @Test("a server that names a time gets no attempt before it, up to an hour")
    func pause() {
        let seconds: Int64 = 1_000_000
        #expect(
            Transfer.judge(429, retryAfter: 600)
                == .failed("the server answered with status 429", pause: 600 * seconds))
        func wait(_ pause: Int64, attempts: Int = 0) -> Int64 {
            let now = Timestamp(microseconds: 5)
            return RetrySchedule.failure(delivery(attempts), "x", isFinal: false, pause: pause, at: now).due - now
        }
        #expect(wait(600 * seconds) == 600 * seconds)
        #expect(wait(2 * seconds, attempts: 6) == 64 * seconds)
        #expect(wait(.max) == 3600 * seconds)
    }

    @Test("the reply of a mail server is shown, and final from 500 on, but not for a login")
    func mailReplies() {
        func outcome(_ lines: [String], isLogin: Bool = false) -> Transfer.Outcome? {
            var replies = MailReplies()
            for line in lines { replies.add(Array((line + "\r\n").utf8)) }
            return replies.outcome(isLogin: isLogin)
        }
        let start = ["220 test", "250-test", "250 SIZE 1000", "250 ok"]
        #expect(
            outcome(start + ["550-5.1.1 no such user", "550 5.1.1 here", "221 bye"])
                == .refused("the mail server answered: 550-5.1.1 no such user 5.1.1 here"))
        #expect(outcome(start + ["451 later"]) == .failed("the mail server answered: 451 later"))
        #expect(outcome(start + ["535 wrong"], isLogin: true) == .failed("the mail server answered: 535 wrong"))
        #expect(outcome(["220 test", "502 no EHLO", "250 test"]) == nil, "the refusal was of no consequence")
        #expect(outcome(["hello", ""]) == nil)
    }

    @Test("the signature is the HMAC-SHA256 of RFC 4231, test case 2")
    func hmac() {
        #expect(
            signature(of: Array("what do ya want for nothing?".utf8), secret: "Jefe")
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }

    @Test("an event is encoded as the wire format documents it")
    func json() {
        let event = RuleEvent(
            key: .init(rule: "high", device: left, time: Timestamp(microseconds: 1_795_232_037_655_430)),
            at: Timestamp(microseconds: 1_795_232_037_855_112), value: 41.5, text: "lab/left: high (41.5)",
            isLate: false, severity: .critical)
        let text = String(
            decoding: EventJSON.encode(StoredEvent(id: 7, event: event)), as: UTF8.self)
        #expect(
            text
                == #"{"id":7,"rule":"high","device":"lab/left","t":1795232037655430,"at":1795232037855112,"value":41.5,"#
                + #""text":"lab/left: high (41.5)","late":false,"severity":"critical"}"#)
    }

    @Test("a notification by ntfy has the priority of its target, or else that of its severity")
    func priorities() {
        var event = delivery().event.event
        func priority(_ severity: Severity, of target: String? = nil) -> [String] {
            event.severity = severity
            return ntfyHeaders(StoredEvent(id: 3, event: event), token: nil, priority: target)
                .filter { $0.hasPrefix("Priority") }
        }
        #expect(priority(.critical) == ["Priority: urgent"])
        #expect(priority(.warning) == [])
        #expect(priority(.info) == ["Priority: low"])
        #expect(priority(.critical, of: "high") == ["Priority: high"])
        #expect(priority(.warning, of: "high") == ["Priority: high"])
        let headers = ntfyHeaders(StoredEvent(id: 3, event: event), token: "t\r\nX: y", priority: nil)
        #expect(headers.contains("Authorization: Bearer tX: y"))
    }

    @Test("placeholders in a text are not filled again, and a text cannot end an argument")
    func arguments() {
        var event = delivery().event.event
        event.text = "{rule}\0x"
        let stored = StoredEvent(id: 3, event: event)
        #expect(fill("<{message}> {id} {device} {unknown}", stored) == "<{rule}x> 3 lab/left {unknown}")
        event.value = 36.94499999999999
        #expect(fill("{value}", StoredEvent(id: 3, event: event)) == "36.945")
        event.text = "--force"
        let option = StoredEvent(id: 3, event: event)
        #expect(fill("{message}", option) == " --force", "a text is no option")
        #expect(fill("--text={message}", option) == "--text=--force")
        #expect(fill("-m", option) == "-m")
    }

    @Test("a command ends with its status, and is killed after its time")
    func command() {
        #expect(runCommand(["/bin/true"]) == .success)
        #expect(runCommand(["/bin/false"]) == .failed("/bin/false ended with the status 1"))
        #expect(runCommand(["/bin/sleep", "60"], within: .milliseconds(100)) != .success)
        #expect(runCommand(["/no/program"]) == .failed("cannot run /no/program: No such file or directory"))
    }

    @Test("an e-mail has its headers, and a rule's text cannot add any")
    func mail() {
        var event = delivery().event.event
        event.text = "first\nsecond"
        event.key.rule = "a\r\nBcc: x"
        let text = String(
            decoding: mailText(
                StoredEvent(id: 3, event: event),
                .init(
                    url: "smtp://x", from: "a@example.org", to: ["b@example.org", "c@example.org"],
                    recipient: "b@example.org")), as: UTF8.self)
        #expect(text.contains("To: <b@example.org>, <c@example.org>\r\n"))
        #expect(text.contains("Subject: Lockstep: aBcc: x lab/left\r\n"))
        #expect(text.contains("Date: 01 Jan 1970 00:00:00 +0000\r\n"))
        #expect(text.contains("\r\n\r\nfirst\r\nsecond\r\n"))
    }
}
