import LockstepCommandLine
import LockstepModel
import LockstepRules
import Testing

@Suite struct RuleFileTests {
    /// Faulty rules and a part of the error, which names the line.
    static let faults: [(String, String)] = [
        ("rules: [a]", "r.yaml:1: 'rules' is not a mapping"),
        (
            "ways: {bus: {mqtt: event}}\nrules:\n  a: {when: {shake: any}, to: bus}",
            "r.yaml:1: unknown key 'ways' of the file; known keys: rules, places, targets"
        ),
        (
            "rules:\n  a: {when: {shake: any}, too: x}",
            "r.yaml:2: unknown key 'too' of rule 'a'; known keys: when, groups"
        ),
        ("rules:\n  a: {}", "r.yaml:2: rule 'a' has no 'when'"),
        ("rules:\n  a: {when: {}}", "has none of the keys value, speed"),
        ("rules:\n  a: {when: {shake: any, state: active}}", "has 2 of the keys"),
        ("rules:\n  a: {when: {value: nothing.x, above: 1}}", "'nothing.x' is not STREAM.COLUMN"),
        ("rules:\n  a: {when: {value: pressure.x, above: 1}}", "'x' is not a column of pressure; columns: pressure"),
        (
            "rules:\n  a:\n    when:\n      value: pressure.pressure\n      above: 10 hPa",
            "r.yaml:5: 'above' of the condition of rule 'a': '10 hPa' is not a number"
        ),
        ("rules:\n  a: {when: {value: pressure.pressure}}", "needs one of 'above' and 'below'"),
        (
            "rules:\n  a: {when: {value: pressure.pressure, above: 1, clear: 2}}",
            "'clear' of the condition of rule 'a': is beyond the limit"
        ),
        (
            "rules:\n  a: {when: {value: pressure.pressure, above: 1, aggregate: mean}}",
            "both or none of 'aggregate' and 'over'"
        ),
        ("rules:\n  a: {when: {speed: any, above: 30}}", "'30' is not a speed; write it as '30 km/h'"),
        ("rules:\n  a: {when: {silence: any, for: 10 minutes}}", "'10 minutes' is not a duration"),
        ("rules:\n  a: {when: {silence: any}}", "has no 'for'"),
        ("rules:\n  a: {when: {shake: any}, severity: loud}", "'loud' is not one of info, warning, critical"),
        ("rules:\n  a: {when: {state: asleep}}", "'asleep' is not one of active"),
        ("rules:\n  a: {when: {enter: home}}", "'home' is not a place; add it to the section 'places'"),
        ("places: {home: {center: [91, 0], radius: 5}}", "expects [latitude, longitude]"),
        ("places: {home: {polygon: [[1, 2], [3, 4]]}}", "at least three corners"),
        ("rules:\n  a: {when: {shake: any}, to: desk}", "'desk' is not a target; add it"),
        (
            "rules:\n  a:\n    when: {shake: any}\n    message: '{devcie} fast {value}'",
            ":4: 'message' of rule 'a': '{devcie}' is not a placeholder; use {rule}, {group}, {device}, {value}, {time}"
        ),
        ("rules:\n  a: {when: {shake: any}, schedule: {days: [moon]}}", "'moon' is not a day"),
        ("rules:\n  a: {when: {shake: any}, schedule: {from: 8}}", "'8' is not a time of day"),
        ("rules:\n  a: {when: {shake: any}, schedule: {zone: ../passwd}}", "is not a time zone"),
        ("targets: {x: {webhook: ftp://x}}", "is not a web address"),
        ("targets: {x: {command: [sh, -c]}}", "expects the full path"),
        ("targets: {x: {mail: smtp://x, from: a@b}}", "has no 'to'"),
        ("targets: {x: {mail: smtp://x, from: \"a@b\\r\\nBcc: c@d\", to: a@b}}", "is not a mail address"),
        ("targets: {x: {record: pause}}", "expects start, mark or stop"),
        ("targets: {x: {record: stop}}", "has no 'session'"),
        ("targets: {x: {record: start, session: '{time}'}}", "'{time}' is not a placeholder"),
        ("targets: {x: {record: start, session: a, rates: {pressure: fast}}}", "'fast' is not a rate in Hz"),
        ("targets: {x: {record: start, session: a, rates: {presure: 1}}}", "presure"),
        (
            "targets:\n  x: {record: start, session: a, for: 20000d}",
            "r.yaml:2: target 'x' cannot start a session: 'for_s' must be from 0 to 1e9"
        ),
        (
            "targets: {x: {record: start, session: \(String(repeating: "a", count: 1001))}}",
            "'name' must have 1 to 1000 bytes"
        ),
        (
            "targets: {x: {record: start, session: a, labels: {\(String(repeating: "k", count: 129)): v}}}",
            "with names of 1 to 128 bytes"
        ),
        (
            "targets: {x: {record: start, session: a, labels: {k: \(String(repeating: "v", count: 1001))}}}",
            "'labels' must have 1 to 1000 bytes"
        ),
        ("targets: {x: {record: mark, for: 5s}}", "unknown key 'for'"),
        (
            "targets: {x: {record: mark}}\nrules: {a: {when: {health: disk, below: 10 %}, to: x}}",
            "'to' of rule 'a': the condition is about no device"
        ),
        ("rules:\n  a: {when: {shake: any}}\n  a: {when: {shake: any}}", "r.yaml:3: 'a' of 'rules' is written twice"),
        ("places: {x: {center: [1, 2], radius: 5, polygon: a}}", "r.yaml:1: unknown key 'polygon' of place 'x'"),
        ("places: {x: {polygon: [[1, 2], [3, 4], [5, 6]], radius: 5}}", "unknown key 'radius' of place 'x'"),
        ("rules:\n  a/b: {when: {shake: any}}", "is not a name"),
    ]

    @Test("a section without a value is empty")
    func emptySections() throws {
        #expect(try parseRules("rules:\nplaces:\ntargets:\n", file: "r.yaml").rules.isEmpty)
    }

    @Test("a faulty file is refused with its line, the problem and what to do", arguments: faults)
    func refused(_ yaml: String, _ problem: String) {
        let error = #expect(throws: CommandFailure.self) { try parseRules(yaml, file: "r.yaml") }
        #expect(error?.description.contains(problem) == true, "\(error?.description ?? "")")
    }

    @Test("every kind of rule and target is read")
    func complete() throws {
        let yaml = """
            places:
              yard: {polygon: [[1, 1], [1, 2], [2, 2]]}
            targets:
              bus: {mqtt: event, retain: true}
              desk: {webhook: "https://example.org/x"}
              phone: {ntfy: "https://ntfy.example.org/t", priority: high}
              post: {mail: "smtps://mail.example.org:465", from: a@example.org, to: [b@example.org, c@example.org]}
              log: {command: [/usr/bin/logger, "{message}"]}
              film: {record: start, session: "fall of {device}", before: 15s, for: 30s, devices: group, rates: {motion/accelerometer: 200}, labels: {kind: fall}}
              note: {record: mark}
              end: {record: stop, session: walk}
            rules:
              a: {when: {enter: yard}, to: [bus, desk, phone, post, log], severity: critical, cooldown: 1h, late: ignore, late-after: 5m}
              b: {when: {steps: 10000, zone: Europe/Berlin}, message: "{device} walks"}
              c: {when: {orientation: [faceUp, faceDown], for: 3s}, groups: [lab], devices: ["lab/*"]}
            """
        let rules = try parseRules(yaml, file: "r.yaml")
        #expect(rules.rules.map(\.name) == ["a", "b", "c"])
        #expect(
            rules.rules[0].ways == ["bus", "desk", "phone", "post/b@example.org", "post/c@example.org", "log"],
            "each recipient of a mail is accepted, refused and repeated on its own")
        #expect(rules.rules[0].late == .ignore)
        #expect(rules.rules.map(\.severity) == [.critical, .warning, .warning])
        #expect(rules.rules[0].lateAfter == 300_000_000 && rules.rules[0].cooldown == 3_600_000_000)
        #expect(Set(rules.ways.values.map(\.kind)).count == 6)
        var start = RecordAction.Start(session: "fall of {device}")
        (start.before, start.length, start.includesGroup) = (15_000_000, 30_000_000, true)
        (start.rates, start.labels) = (["motion/accelerometer": 200], ["kind": "fall"])
        #expect(rules.ways["film"] == .record(.start(start)))
        #expect(rules.ways["note"] == .record(.mark(session: nil)))
        #expect(rules.ways["end"] == .record(.stop(session: "walk")))
        #expect(try parseRules("# nothing", file: "r.yaml") == RuleSet())
    }
}
