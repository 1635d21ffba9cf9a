import Foundation
import LockstepMQTT
import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("RequestTable")
struct RequestTableTests {
    private var table = RequestTable()
    private let left = device("left")

    /// Sends what is to be sent, and returns the topics and payloads.
    private mutating func sent(isConnected: Bool = true) -> [String] {
        var messages: [String] = []
        let results = table.sendAll { message throws(MQTTError) in
            guard isConnected else { return nil }
            messages.append("\(message.topic) \(String(decoding: message.payload, as: UTF8.self))")
            return Int32(messages.count)
        }
        #expect(results.isEmpty)
        return messages
    }

    private mutating func add(_ id: String?) -> Int {
        let number = table.reserveID()
        let request = PendingRequest(AgentRequest(id: id, action: .flush), to: left)
        table.add(.reply(request), [request.message(root: .standard)], deadline: 1000, id: number)
        return number
    }

    private func reply(_ id: String) -> Data {
        Data(ReplyJSON.encode(AgentReply(id: id, outcome: .flushed(batches: 2))))
    }

    @Test("a request is sent once per connection, and again after a reconnect")
    mutating func sending() {
        _ = add("7")
        #expect(sent(isConnected: false).isEmpty)
        #expect(sent() == [#"lockstep/lab/left/command {"id":"7","flush":true}"#])
        #expect(sent().isEmpty)
        table.didConnect()
        #expect(sent().count == 1)
    }

    @Test("a reply ends the request with its id and device only")
    mutating func replies() {
        let seven = add("7")
        _ = add("8")
        #expect(table.handle(reply("9"), from: left).isEmpty)
        #expect(table.handle(reply("7"), from: device("right")).isEmpty)
        let results = table.handle(reply("7"), from: left)
        #expect(results.map(\.0) == [seven])
        let answer = CommandReply(
            reply: AgentReply(id: "7", outcome: .flushed(batches: 2)), payload: Array(reply("7")))
        #expect(results.first?.1 == .success(.reply(answer)))
        #expect(table.count == 1)
    }

    @Test("a request without an id gets one of its own")
    mutating func ids() {
        _ = add(nil)
        _ = add(nil)
        let ids = sent().compactMap { $0.split(separator: "\"").dropFirst(3).first }
        #expect(Set(ids).count == 2 && ids.allSatisfy { $0.count == 16 })
    }

    @Test("an unreadable reply, a refusal and a timeout are errors")
    mutating func failures() {
        let first = add("1")
        let results = table.handle(Data("{".utf8), from: left)
        guard case .failure(.invalidReply("lab/left", _))? = results.first?.1, results.first?.0 == first else {
            Issue.record("\(results)")
            return
        }
        let second = add("2")
        _ = sent()
        let refused = table.didPublish(1, refusal: MQTTError(.notAuthorized, "not allowed"))
        #expect(refused.map(\.0) == [second] && refused[0].1 == .failure(.refused("not allowed")))
        let third = add("3")
        #expect(table.nextDeadline == 1000)
        #expect(table.expire(at: 999).isEmpty)
        let expired = table.expire(at: 1000)
        #expect(expired.map(\.0) == [third] && expired[0].1 == .failure(.noReply(device: "lab/left")))
        #expect(table.count == 0 && table.nextDeadline == nil)
    }

    @Test("an acknowledged message is no longer connected with its request")
    mutating func acknowledgement() {
        _ = add("1")
        _ = sent()
        #expect(table.didPublish(1, refusal: nil).isEmpty)
        #expect(table.didPublish(1, refusal: MQTTError(.notAuthorized, "another message")).isEmpty)
        #expect(table.count == 1)
    }
}
