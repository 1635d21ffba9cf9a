import LockstepModel
import LockstepWire
import Testing

@testable import LockstepLive

@Suite("Forgotten devices of the live picture")
struct ForgottenDeviceTests {
    private let picture = LivePicture(root: .standard)
    private let left = device("left")

    private func forget() {
        picture.handle(Message(left, "state", []), at: 2)
        picture.handle(Message(left, "presence", []), at: 2)
    }

    private func listed() -> [DeviceAddress] { picture.read { $0.devices.map(\.address) } }

    @Test("a device whose state and presence are deleted is no longer listed, until it sends again")
    func deleted() throws {
        picture.handle(.state(transition(.terminated), of: left), at: 0)
        picture.handle(.presence(.terminated, of: left), at: 0)
        picture.handle(Message(left, "state", []), at: 1)
        #expect(listed() == [left], "its presence is still there")
        forget()
        #expect(listed().isEmpty && picture.deviceJSON(left) == nil)
        picture.handle(.samples(samples(3, from: 3), of: left), at: 3)
        #expect(listed() == [left])
    }

    @Test("a device that has only sent samples is not removed by an empty message")
    func samplesOnly() {
        picture.handle(.samples(samples(3, from: 0), of: left), at: 1)
        forget()
        #expect(listed() == [left])
    }

    @Test("a subscriber to devices receives the removal once, and a new one does not know the device")
    func subscribers() throws {
        picture.handle(.state(transition(.terminated), of: left), at: 0)
        let subscription = try picture.subscribeToDevices(at: moment(0))
        _ = subscription.waiting()
        forget()
        picture.advance(from: 2, to: 5)
        let events = subscription.waiting().filter { $0.name == "devices" }.map(\.data)
        #expect(events.count == 1)
        #expect(
            events.first?.hasSuffix(#""devices":[],"forgotten":[{"group":"lab","device":"left"}]}"#) == true,
            "\(events)")
        let other = try picture.subscribeToDevices(at: moment(6))
        #expect(other.waiting().filter { $0.name == "devices" }.allSatisfy { !$0.data.contains("left") })
    }

    @Test("what the store calls forgotten is not shown, and what it knows again is")
    func seeds() {
        var seed = DeviceSeed(address: left, transition: transition(.terminated))
        seed.isForgotten = true
        picture.seed([seed])
        #expect(listed().isEmpty)
        picture.handle(.state(transition(.terminated), of: left), at: 0)
        picture.seed([seed])
        #expect(listed().isEmpty, "the deletion was missed")
        seed.isForgotten = false
        picture.seed([seed])
        #expect(listed() == [left])
    }

    @Test("a collector and a gateway whose health is deleted are no longer listed")
    func programs() {
        let health = CollectorHealth(status: .offline, at: moment(0).wall).encoded()
        let report = GatewayHealth(status: .offline, at: moment(0).wall, devices: 0, accepted: 0).encoded()
        for payload in [health, []] {
            let bytes = payload
            bytes.withUnsafeBytes {
                _ = picture.handle(
                    topic: "lockstep/lab/$collector/main", payload: $0, contentType: nil, at: moment(1))
            }
            #expect(picture.read { $0.collectors.count } == (payload.isEmpty ? 0 : 1))
        }
        for payload in [report, []] {
            let bytes = payload
            bytes.withUnsafeBytes {
                _ = picture.handle(topic: "lockstep/lab/$gateway/main", payload: $0, contentType: nil, at: moment(1))
            }
            #expect(picture.read { $0.gateways.count } == (payload.isEmpty ? 0 : 1))
        }
    }

    @Test("samples that collectors reject because of their time are not shown")
    func future() {
        picture.handle(.samples(samples(3, from: 0), of: left), at: 1)
        let change = picture.handle(.samples(samples(3, from: 90_000), of: left), at: 1)
        guard case .unreadable(_, let reason) = change else {
            Issue.record("\(String(describing: change))")
            return
        }
        #expect(reason.contains("is in the future"))
        #expect(picture.read { $0[left]?.newest } == moment(0.02).wall)
    }
}
