import Foundation
import LockstepModel
import Testing

@testable import LockstepWire

@Suite("DeletionJSON")
struct DeletionJSONTests {
    private let device = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))

    private func decode(_ text: String) throws -> Deletion {
        try DeletionJSON.decode(Data(text.utf8), of: device, at: Timestamp(microseconds: 9))
    }

    @Test("a request is decoded to what was encoded")
    func encoding() throws {
        let all = Deletion(
            id: "a", device: device, stream: "location", times: Deletion.earliest..<5, at: Timestamp(microseconds: 9),
            who: "anna", reason: "why", isSecure: true, onlyRefuses: true)
        #expect(try decode(String(decoding: DeletionJSON.encode(all), as: UTF8.self)) == all)
        let least = Deletion(id: "a", device: device, times: 1..<2, at: Timestamp(microseconds: 9))
        #expect(try decode(String(decoding: DeletionJSON.encode(least), as: UTF8.self)) == least)
        #expect(!least.isWhole && Deletion(id: "", device: device, times: Deletion.earliest..<1, at: least.at).isWhole)
    }

    @Test(
        "a request without an id or with an invalid range is refused",
        arguments: [
            "{}", #"{"id":"a","from":1}"#, #"{"id":"a","from":2,"to":2}"#, #"{"id":"","from":1,"to":2}"#,
            #"{"id":"a","from":-9007199254740992,"to":2}"#, #"{"from":1,"to":2}"#,
            #"{"id":"a","from":1,"to":2,"reason":"\#(String(repeating: "x", count: 1001))"}"#,
        ])
    func invalid(text: String) { #expect(throws: PayloadError.self) { try decode(text) } }

    @Test("a request ends a day after its receipt at the latest, so that later samples are stored")
    func future() throws {
        let end = 9 + DeletionJSON.maxFuture
        #expect(try decode(#"{"id":"a","from":1,"to":\#(end + 1)}"#).times == 1..<end)
        #expect(try decode(#"{"id":"a","from":1,"to":\#(end - 1)}"#).times == 1..<end - 1)
    }

    @Test("the body of a web request has a limit of the range, or says that all is meant")
    func body() throws {
        let now = Timestamp(microseconds: 100)
        func times(_ text: String) throws -> Range<Int64> { try DeletionBody(Data(text.utf8)).times(now: now) }
        #expect(try times(#"{"from":5,"to":7}"#) == 5..<7)
        #expect(try times(#"{"from":5}"#) == 5..<100)
        #expect(try times(#"{"from":5,"to":900}"#) == 5..<100)
        #expect(try times(#"{"all":true}"#) == Deletion.earliest..<100)
        for text in ["{}", #"{"all":false}"#, #"{"all":true,"from":1}"#, #"{"from":7,"to":5}"#, "1"] {
            #expect(throws: PayloadError.self, "\(text)") { try times(text) }
        }
    }
}
