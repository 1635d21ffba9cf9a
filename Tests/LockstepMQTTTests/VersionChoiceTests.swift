import Testing

@testable import LockstepMQTT

@Suite("The version of MQTT")
struct VersionChoiceTests {
    @Test("is the older one for good where the broker says that it does not speak 5")
    func settled() {
        var choice = VersionChoice(nil)
        #expect(choice.version == .five)
        choice.didFail(.unsupportedVersion)
        #expect(choice.version == .three)
        choice.didLose()
        choice.didFail(.connectionLost)
        #expect(choice.version == .three)
        choice.didFail(.unsupportedVersion)
        #expect(choice.version == .five)
    }

    @Test(
        "is tried in turns where the broker hangs up, and 5 again after the connection",
        arguments: [
            MQTTError.Code.connectionLost, .other,
        ])
    func alternates(_ code: MQTTError.Code) {
        var choice = VersionChoice(nil)
        choice.didFail(code)
        #expect(choice.version == .three)
        choice.didFail(code)
        #expect(choice.version == .five)
        choice.didFail(code)
        choice.didLose()
        #expect(choice.version == .five)
    }

    @Test("does not change where nobody answers, or where it was given")
    func unchanged() {
        var choice = VersionChoice(nil)
        choice.didFail(.unreachable)
        choice.didFail(.badCredentials)
        #expect(choice.version == .five)
        var fixed = VersionChoice(.three)
        fixed.didFail(.unsupportedVersion)
        fixed.didLose()
        #expect(fixed.version == .three)
    }
}
