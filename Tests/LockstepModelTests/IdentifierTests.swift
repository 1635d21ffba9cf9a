import LockstepModel
import LockstepSensors
import Testing

@Suite("Identifiers")
struct IdentifierTests {
    @Test(
        "1 to 64 letters, digits and _ . - are valid",
        arguments: ["a", "Z", "0", "_", ".", "-", "pi-4_kitchen.north", String(repeating: "x", count: 64)])
    func valid(_ text: String) throws {
        #expect(try DeviceID(validating: text).rawValue == text)
        #expect(DeviceID(rawValue: text)?.description == text)
    }

    @Test(
        "other lengths and other characters are invalid",
        arguments: [
            "", String(repeating: "x", count: 65), "a b", "a/b", "+", "#", "$collector", "ä", "e\u{301}", "a\n", "a\0",
            "①",
        ])
    func invalid(_ text: String) {
        #expect(DeviceID(rawValue: text) == nil)
        let error = #expect(throws: IdentifierError.self) { try DeviceID(validating: text) }
        #expect(error?.text == text)
        #expect(error?.kind == "device id")
    }

    @Test("an error names the kind of identifier and the allowed characters")
    func errorText() {
        let error = #expect(throws: IdentifierError.self) { try GroupID(validating: "two words") }
        #expect(error?.description == "'two words' is not a group: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
    }

    @Test("each identifier type has a kind")
    func kinds() {
        #expect(
            [DeviceID.kind, GroupID.kind, CollectorID.kind, Epoch.kind] == [
                "device id", "group", "collector id", "epoch",
            ])
    }

    @Test("an error truncates a long string")
    func longErrorText() {
        let error = #expect(throws: IdentifierError.self) {
            try CollectorID(validating: String(repeating: "x", count: 5000))
        }
        let shown = String(repeating: "x", count: 80)
        #expect(
            error?.description
                == "'\(shown)…' is not a collector id: use 1 to 64 characters of A-Z a-z 0-9 _ . -")
    }

    @Test("the error for an epoch says \"an epoch\"")
    func epochErrorText() {
        let error = #expect(throws: IdentifierError.self) { try Epoch(validating: "") }
        #expect(error?.description.hasPrefix("'' is not an epoch") == true)
    }

    @Test("identifiers are ordered as strings, and addresses by group, then device")
    func order() {
        #expect(DeviceID(unchecked: "a") < DeviceID(unchecked: "b"))
        let low = DeviceAddress(group: GroupID(unchecked: "a"), device: DeviceID(unchecked: "z"))
        let high = DeviceAddress(group: GroupID(unchecked: "b"), device: DeviceID(unchecked: "a"))
        #expect(low < high)
        #expect(high.description == "b/a")
        #expect(GroupID.standard.rawValue == "default")
    }

    @Test("random epochs have 16 hexadecimal digits from the given generator")
    func randomEpochs() {
        var generator = SeededGenerator(seed: 1)
        var again = SeededGenerator(seed: 1)
        for _ in 0..<200 {
            let epoch = Epoch.random(using: &generator)
            #expect(epoch.rawValue.count == 16)
            #expect(epoch.rawValue.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            #expect(Epoch(rawValue: epoch.rawValue) == epoch)
            #expect(Epoch.random(using: &again) == epoch)
        }
        #expect(Epoch.random() != Epoch.random())
    }
}
