import LockstepMQTT
import LockstepSensors
import Testing

/// Client ids of the programs.
@Suite("Client ids")
struct ClientIDTests {
    @Test(
        "names of letters and digits stay as they are, and all others are readable",
        arguments: [
            (["agent", "lab", "ant"], "lockstep-agent-lab-ant"),
            (["agent", "lab", "left-foot.2"], "lockstep-agent-lab-left_-foot_2E2"),
            (["agent", "lab", "left_foot"], "lockstep-agent-lab-left__foot"),
            (["member", "site/4", "plant", "ü"], "lockstep-member-site_2F4-plant-_C3_BC"),
        ])
    func readable(parts: [String], id: String) { #expect(Self.clientID(parts) == id) }

    @Test("names with separators do not give the id of another client")
    func distinct() {
        #expect(MQTTOptions.clientID("agent", "a-b", "c") != MQTTOptions.clientID("agent", "a", "b-c"))
        #expect(MQTTOptions.clientID("collector", "main", "clock") != MQTTOptions.clientID("collector", "main-clock"))
        #expect(MQTTOptions.clientID("agent", "a_", "b") != MQTTOptions.clientID("agent", "a", "_b"))
        #expect(MQTTOptions.clientID("agent", "a.b", "c") != MQTTOptions.clientID("agent", "a_2Eb", "c"))
    }

    @Test("every client id is valid for every broker and contains the names")
    func reversible() {
        var random = SeededGenerator(seed: 7)
        let characters = Array("ab0F2._-/: ü")
        for _ in 0..<2000 {
            let parts = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                String(
                    (0..<Int.random(in: 0...6, using: &random)).map { _ in
                        characters[Int.random(in: 0..<characters.count, using: &random)]
                    })
            }
            let id = Self.clientID(parts)
            #expect(id.wholeMatch(of: /[A-Za-z0-9_-]+/) != nil, "\(id)")
            #expect(Self.parts(of: id) == ["lockstep"] + parts, "\(id)")
        }
    }

    /// Returns the client id of a list of up to four parts.
    private static func clientID(_ parts: [String]) -> String {
        switch parts.count {
        case 1: MQTTOptions.clientID(parts[0])
        case 2: MQTTOptions.clientID(parts[0], parts[1])
        case 3: MQTTOptions.clientID(parts[0], parts[1], parts[2])
        default: MQTTOptions.clientID(parts[0], parts[1], parts[2], parts[3])
        }
    }

    /// Returns the parts of a client id.
    private static func parts(of id: String) -> [String] {
        var parts: [[UInt8]] = [[]]
        var rest = Substring(id).utf8
        while let byte = rest.popFirst() {
            switch (byte, rest.first) {
            case (UInt8(ascii: "-"), _): parts.append([])
            case (UInt8(ascii: "_"), UInt8(ascii: "-")?), (UInt8(ascii: "_"), UInt8(ascii: "_")?):
                parts[parts.count - 1].append(rest.removeFirst())
            case (UInt8(ascii: "_"), _):
                parts[parts.count - 1].append(UInt8(String(Substring(rest.prefix(2))), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            default: parts[parts.count - 1].append(byte)
            }
        }
        return parts.map { String(decoding: $0, as: UTF8.self) }
    }
}
