import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import LockstepTestSupport
import Testing

@Suite("Settings", .temporaryFolder)
struct SettingsTests {
    private let names = ["broker", "backlog-rate", "source"]

    @Test("the command line takes precedence over the environment, and the environment over the file")
    func precedence() throws {
        let file = try write("backlog-rate: file\n")
        let all = try Settings(names: names, file: file, environment: ["LOCKSTEP_BACKLOG_RATE": "variable"])
        #expect(try all.value("backlog-rate", "option") { $0 } == "option")
        #expect(try all.value("backlog-rate", nil) { $0 } == "variable")
        let fileOnly = try Settings(names: names, file: file, environment: [:])
        #expect(try fileOnly.value("backlog-rate", nil) { $0 } == "file")
        let none = try Settings(names: names, file: nil, environment: [:])
        #expect(try none.value("backlog-rate", nil) { $0 } == nil)
    }

    @Test("the values of a list come from one origin and are never merged")
    func lists() throws {
        let file = try write("source: [a, 'b,c']\n")
        let all = try Settings(names: names, file: file, environment: ["LOCKSTEP_SOURCE": "x, y ,z"])
        #expect(try all.values("source", ["o,p"]) { $0 } == ["o,p"])
        #expect(try all.values("source", []) { $0 } == ["x", "y", "z"])
        let fileOnly = try Settings(names: names, file: file, environment: [:])
        #expect(try fileOnly.values("source", []) { $0 } == ["a", "b,c"])
        let none = try Settings(names: names, file: nil, environment: [:])
        #expect(try none.values("source", []) { $0 }.isEmpty)
    }

    @Test("an empty environment variable is ignored")
    func emptyVariable() throws {
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_BROKER": ""])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("LOCKSTEP_CONFIG names the file")
    func fileVariable() throws {
        let file = try write("broker: mqtt://host\n")
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_CONFIG": file])
        #expect(try settings.value("broker", nil) { $0 } == "mqtt://host")
    }

    @Test("an empty LOCKSTEP_CONFIG is ignored")
    func emptyFileVariable() throws {
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_CONFIG": ""])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("environment variables have underscores instead of hyphens")
    func variables() { #expect(Settings.variable(for: "backlog-rate") == "LOCKSTEP_BACKLOG_RATE") }

    @Test(
        "a file may be empty", arguments: ["", "\n", "# only a comment\n"])
    func emptyFile(_ text: String) throws {
        let settings = try Settings(names: names, file: try write(text), environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("a file may contain only a document marker and comments")
    func emptyDocument() throws {
        let file = try write("---\n# broker: mqtt://localhost\n")
        let error = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(error == nil)
    }

    @Test("values in the file are text and are not converted to numbers or booleans")
    func texts() throws {
        let settings = try Settings(
            names: names, file: try write("broker: 007\nbacklog-rate: yes\nsource: 1.50\n"), environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == "007")
        #expect(try settings.value("backlog-rate", nil) { $0 } == "yes")
        #expect(try settings.values("source", []) { $0 } == ["1.50"])
    }
}

@Suite("Invalid settings", .temporaryFolder)
struct SettingsErrorTests {
    private let names = ["broker", "backlog-rate"]

    @Test("an error names the option, the environment variable, or the line of the file")
    func origins() throws {
        let file = try write("# first\nbroker: x\n\nbacklog-rate: much\n")
        let fileOnly = try Settings(names: names, file: file, environment: [:])
        let both = try Settings(names: names, file: file, environment: ["LOCKSTEP_BACKLOG_RATE": "more"])
        let reason = { (text: String) in "'\(text)' is not a size in bytes: use 65536, 64K, 256M or 1G" }
        #expect(
            failure { _ = try both.value("backlog-rate", "most", parse: byteCount) }
                == "--backlog-rate: \(reason("most"))"
        )
        #expect(
            failure { _ = try both.value("backlog-rate", nil, parse: byteCount) }
                == "LOCKSTEP_BACKLOG_RATE: \(reason("more"))")
        #expect(
            failure { _ = try fileOnly.value("backlog-rate", nil, parse: byteCount) }
                == "backlog-rate in \(file):4: \(reason("much"))")
        #expect(
            failure { _ = try fileOnly.values("backlog-rate", [], parse: byteCount) }
                == "backlog-rate in \(file):4: \(reason("much"))")
    }

    @Test("a list for a setting with one value is refused")
    func listForOne() throws {
        let file = try write("broker: [a, b]\n")
        let settings = try Settings(names: names, file: file, environment: [:])
        #expect(
            failure { _ = try settings.value("broker", nil) { $0 } }
                == "broker in \(file):1: expects one value, not a list")
    }

    @Test("an unknown setting is refused")
    func unknownName() throws {
        let file = try write("broker: x\nbrokre: y\n")
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file):2: unknown setting 'brokre'; known settings: broker, backlog-rate")
    }

    @Test("an unknown setting is ignored in a file shared with other programs")
    func otherProgram() throws {
        let file = try write("broker: x\nstore: y\n")
        let settings = try Settings(names: names, file: file, ignoresUnknownKeys: true, environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == "x")
        #expect(try settings.value("store", nil) { $0 } == nil)
    }

    @Test(
        "a setting that is neither a value nor a list is refused",
        arguments: ["broker: {a: b}\n", "broker: []\n", "broker:\n  a: b\n"])
    func nested(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file):1: 'broker' expects a value or a list of values")
    }

    @Test("a list that contains a mapping is refused")
    func nestedInList() throws {
        let file = try write("broker: [a, {b: c}]\n")
        let error = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(error == "\(file):1: 'broker' expects a value or a list of values")
    }

    @Test("a file that is not a mapping is refused", arguments: ["just a text\n", "- a\n- b\n", "42\n"])
    func noMapping(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file): the file is not a mapping: write one setting per line as 'name: value'")
    }

    @Test(
        "invalid YAML is reported with file and line",
        arguments: ["broker: [a\nb: c\n", "broker: 'x\n", "a: b: c\n"])
    func noYAML(_ text: String) throws {
        let file = try write(text)
        let error = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(error?.contains(#/^\S+\.yaml:[1-3]:\d+: \w+/#) == true)
        #expect(error?.hasPrefix("\(file):") == true)
    }

    @Test("a setting that appears twice in the file is refused")
    func twice() throws {
        let file = try write("broker: a\n\nbroker: b\n")
        let error = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(error == "\(file):3: 'broker' is set twice; the first is on line 1")
    }

    @Test("a file that is missing, a folder or not UTF-8 is reported with its path and what to do")
    func noFile() throws {
        func error(_ path: String) -> String? {
            let text = failure { _ = try Settings(names: names, file: path, environment: [:]) }
            return text?.replacing("cannot read the configuration file \(path): ", with: "")
        }
        let path = TemporaryFolder.path + "/missing.yaml"
        #expect(error(path) == "there is no such file: check the path")
        #expect(error(TemporaryFolder.path) == "it is a folder: name a file")
        try Data([0xff, 0xfe, 0x80]).write(to: URL(filePath: path))
        #expect(error(path) == "it is not text in UTF-8: save it with this encoding")
        #expect(error(path + "/x") == "there is no such file: check the path")
    }
}

@Suite("BrokerOptions", .temporaryFolder)
struct BrokerOptionsTests {
    @Test("options have defaults")
    func defaults() throws {
        let options = try BrokerOptions.parse([])
        let settings = try Settings(names: BrokerOptions.names, file: nil, environment: [:])
        #expect(try options.address(settings) == BrokerAddress(host: "localhost", port: 1883))
        #expect(try options.version(settings) == nil)
        #expect(try options.tls(settings) == TLSOptions())
    }

    @Test("options are read from the command line, the environment and the file")
    func places() throws {
        let options = try BrokerOptions.parse(["--mqtt", "3.1.1"])
        let settings = try Settings(
            names: BrokerOptions.names, file: try write("ca-file: /ca.pem\nmqtt: '5'\n"),
            environment: ["LOCKSTEP_BROKER": "mqtts://host"])
        #expect(try options.address(settings) == BrokerAddress(host: "host", port: 8883, usesTLS: true))
        #expect(try options.version(settings) == .three)
        #expect(try options.tls(settings) == TLSOptions(authorityFile: "/ca.pem"))
    }

    @Test(
        "each MQTT version can be selected",
        arguments: [("auto", nil), ("5", .five), ("3.1.1", .three)] as [(String, MQTTVersion?)])
    func versions(_ text: String, _ version: MQTTVersion?) throws {
        let settings = try Settings(names: BrokerOptions.names, file: nil, environment: [:])
        #expect(try BrokerOptions.parse(["--mqtt", text]).version(settings) == version)
    }

    @Test("errors never contain the password")
    func errors() throws {
        let settings = try Settings(
            names: BrokerOptions.names, file: nil, environment: ["LOCKSTEP_BROKER": "mqtt://me:secret@host:x"])
        let options = try BrokerOptions.parse(["--mqtt", "4"])
        #expect(
            failure { _ = try options.version(settings) }
                == "--mqtt: '4' is not an MQTT version: use auto, 5 or 3.1.1")
        #expect(
            failure { _ = try options.address(settings) }
                == "LOCKSTEP_BROKER: not a broker address: the port is not from 1 to 65535; use mqtt[s]://[user@]host[:port]"
        )
    }
}
