import Testing

@testable import LockstepMQTT

@Suite("VersionChoice")
struct VersionChoiceTests {
    @Test("3.1.1 is kept after the broker has reported that it does not support 5")
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
        "the versions alternate while the broker closes connections, and 5 is used again after a connection",
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

    @Test("the version does not change if the broker cannot be reached or refuses the user, or if it is fixed")
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
