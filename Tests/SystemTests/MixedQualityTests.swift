import Glibc
import LockstepMQTT
import LockstepModel
import LockstepTestSupport
import Testing

@Suite(
    "Messages with QoS 0 beside others",
    .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
struct MixedQualityTests {
    @Test(
        "a broker that hangs for a while receives all messages complete and in order, with QoS 0 and 1",
        arguments: [MQTTVersion.five, .three])
    func hangingBroker(version: MQTTVersion) async throws {
        try await withBroker { broker in
            let receiver = TestClient(broker.address)
            #expect(await receiver.waitUntilListening())
            let link = BrokerLink(wakeup: Wakeup(), version: version) { version in
                MQTTOptions(address: broker.address, clientID: "sender", version: version)
            }
            defer { link.stop(until: .now + .seconds(1)) }
            await expectEventually {
                use(link)
                return link.isUp
            }
            broker.signal(SIGSTOP)
            // More than the socket accepts, so that packets of both kinds are sent in part.
            let fill = [UInt8](repeating: 7, count: 3000)
            for number in 0..<4000 {
                let qos: QualityOfService = number % 7 == 3 ? .atLeastOnce : .atMostOnce
                let payload = Array("\(number) ".utf8) + fill
                try link.publish(MQTTMessage(topic: "test/\(qos.rawValue)", payload: payload, qos: qos))
                if number % 10 == 0 { use(link) }
            }
            #expect(link.wantsWrite)
            broker.signal(SIGCONT)
            await expectEventually(within: .seconds(120)) {
                use(link)
                return receiver.messages.count == 4000
            }
            for qos in 0...1 {
                let numbers = receiver.messages.filter { $0.topic == "test/\(qos)" && $0.payload.count > 3000 }
                    .compactMap { Int($0.text.prefix { $0 != " " }) }
                #expect(numbers == (0..<4000).filter { ($0 % 7 == 3) == (qos == 1) })
            }
        }
    }

    private func use(_ link: BrokerLink) {
        link.wait(until: .now + .milliseconds(1))
        for event in link.read() + link.write() {
            if case .disconnected(let error, _) = event { Issue.record("connection lost: \(error)") }
        }
    }
}
