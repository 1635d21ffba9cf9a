import LockstepModel
import LockstepTestSupport
import Testing

@testable import lockstep

@Suite("Names of devices")
struct DeviceArgumentTests {
    private let known = [("default", "arm"), ("lab", "arm"), ("lab", "left")].map {
        DeviceAddress(group: GroupID(unchecked: $0), device: DeviceID(unchecked: $1))
    }

    private func found(_ text: String) throws -> String {
        do { return try DeviceArgument(parsing: text).onlyAddress(among: known, option: "").description } catch {
            return "\(error)"
        }
    }

    @Test("a device is found in any group if it is the only one of its name")
    func unique() throws {
        #expect(try found("left") == "lab/left")
        #expect(try found("lab/arm") == "lab/arm")
        #expect(try found("arm") == "several groups have a device 'arm': use default/arm or lab/arm")
    }

    @Test("an unknown name is answered with the same name in another group, or with a similar one")
    func suggestions() throws {
        let suggestions = [
            ("default/left", "did you mean 'lab/left'?"), ("attic/arm", "did you mean 'default/arm' or 'lab/arm'?"),
            ("lfet", "did you mean 'left'?"), ("lab/lfet", "did you mean 'lab/left'?"),
        ]
        for (text, suggestion) in suggestions {
            #expect(
                try found(text)
                    == "no device '\(text)' in the store: \(suggestion) List devices with 'lockstep devices'")
        }
        #expect(
            try found("thermometer") == "no device 'thermometer' in the store; list devices with 'lockstep devices'")
    }

    @Test(
        "command finds a device in another group by what the broker retains of it; forget only if the group is named",
        .enabled(if: Programs.isInstalled("mosquitto"), "mosquitto is not installed"))
    func broker() async throws {
        try await withBroker { broker in
            let client = TestClient(broker.address, filters: ["lockstep/#"])
            #expect(await client.waitUntilListening())
            func expect(_ name: String, _ answer: String) async throws {
                let run = try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["command", name, "--flush", "--timeout", "300ms", "--broker", broker.url])
                #expect(run.text.contains(answer), "\(name): \(run.text)")
            }
            // Nothing is known of any device.
            try await expect("left", "no reply from default/left")
            let presence = #"{"session":1,"phase":"foreground","at":1}"#
            for device in ["lab/left", "lab/arm", "default/arm"] {
                #expect(await client.publish("lockstep/\(device)/presence", presence, isRetained: true))
            }
            try await expect("left", "no reply from lab/left")
            #expect(client.messages.contains { $0.topic == "lockstep/lab/left/command" })
            try await expect("arm", "several groups have a device 'arm': use default/arm or lab/arm")
            try await expect("lfet", "no device 'lfet' at this broker: did you mean 'left'?")
            try await expect("default/left", "did you mean 'lab/left'?")
            func start(_ options: [String]) async throws -> String {
                try await RunningProgram.run(
                    Programs.built("lockstep"),
                    ["record", "start", "walk", "--group", "lab", "--broker", broker.url] + options
                ).text
            }
            let misspelt = try await start(["--device", "left", "--device", "lfet"])
            #expect(misspelt.contains("no device 'lfet' at this broker: did you mean 'left'?"), "\(misspelt)")
            #expect(misspelt.contains("or add --new-devices"), "\(misspelt)")
            #expect(!client.messages.contains { $0.topic.contains("$session") })
            // Perhaps 'default/left' was forgotten a moment ago, and the command is repeated.
            let forget = try await RunningProgram.run(
                Programs.built("lockstep"), ["forget", "left", "--broker", broker.url])
            #expect(
                forget.status == 1 && forget.text.contains("no device 'default/left'")
                    && forget.text.contains("did you mean 'lab/left'?"), "\(forget)")
            #expect(!client.messages.contains { $0.topic.hasSuffix("/forget") })
        }
    }
}
