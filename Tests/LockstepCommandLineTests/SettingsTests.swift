import ArgumentParser
import FoundationEssentials
import LockstepCommandLine
import LockstepMQTT
import Testing

@Suite("Settings", .temporaryFolder)
struct SettingsTests {
    private let names = ["broker", "backlog-rate", "source"]

    @Test("are taken from the command line, then the environment, then the file, then nowhere")
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

    @Test("of a list come from one place, never mixed")
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

    @Test("that are empty in the environment count as not given")
    func emptyVariable() throws {
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_BROKER": ""])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("may name their file in the environment")
    func fileVariable() throws {
        let file = try write("broker: mqtt://host\n")
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_CONFIG": file])
        #expect(try settings.value("broker", nil) { $0 } == "mqtt://host")
    }

    @Test("take an empty name of their file in the environment for none")
    func emptyFileVariable() throws {
        let settings = try Settings(names: names, file: nil, environment: ["LOCKSTEP_CONFIG": ""])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("have names that are written with underscores in the environment")
    func variables() { #expect(Settings.variable(for: "backlog-rate") == "LOCKSTEP_BACKLOG_RATE") }

    @Test(
        "may come from a file without any", arguments: ["", "\n", "# only a comment\n"])
    func emptyFile(_ text: String) throws {
        let settings = try Settings(names: names, file: try write(text), environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == nil)
    }

    @Test("may come from a file that only begins a document")
    func begunFile() throws {
        let file = try write("---\n# broker: mqtt://localhost\n")
        let told = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(told == nil)
    }

    @Test("keep the text of the file: no number or truth is made of it")
    func texts() throws {
        let settings = try Settings(
            names: names, file: try write("broker: 007\nbacklog-rate: yes\nsource: 1.50\n"), environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == "007")
        #expect(try settings.value("backlog-rate", nil) { $0 } == "yes")
        #expect(try settings.values("source", []) { $0 } == ["1.50"])
    }
}

@Suite("A wrong setting", .temporaryFolder)
struct SettingsErrorTests {
    private let names = ["broker", "backlog-rate"]

    @Test("is told with the option, the variable, or the line of the file it came from")
    func origins() throws {
        let file = try write("# first\nbroker: x\n\nbacklog-rate: much\n")
        let fileOnly = try Settings(names: names, file: file, environment: [:])
        let both = try Settings(names: names, file: file, environment: ["LOCKSTEP_BACKLOG_RATE": "more"])
        let why = { (text: String) in "'\(text)' is no amount of bytes: write 65536, 64K, 256M or 1G" }
        #expect(
            failure { _ = try both.value("backlog-rate", "most", parse: byteCount) } == "--backlog-rate: \(why("most"))"
        )
        #expect(
            failure { _ = try both.value("backlog-rate", nil, parse: byteCount) }
                == "LOCKSTEP_BACKLOG_RATE: \(why("more"))")
        #expect(
            failure { _ = try fileOnly.value("backlog-rate", nil, parse: byteCount) }
                == "backlog-rate in \(file):4: \(why("much"))")
        #expect(
            failure { _ = try fileOnly.values("backlog-rate", [], parse: byteCount) }
                == "backlog-rate in \(file):4: \(why("much"))")
    }

    @Test("is told where one value is due and a list was given")
    func listForOne() throws {
        let file = try write("broker: [a, b]\n")
        let settings = try Settings(names: names, file: file, environment: [:])
        #expect(failure { _ = try settings.value("broker", nil) { $0 } } == "broker in \(file):1: takes one value")
    }

    @Test("is told where its name is unknown")
    func unknownName() throws {
        let file = try write("broker: x\nbrokre: y\n")
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file):2: unknown setting 'brokre'; known are broker, backlog-rate")
    }

    @Test("may have an unknown name where another program reads the same file")
    func otherProgram() throws {
        let file = try write("broker: x\nstore: y\n")
        let settings = try Settings(names: names, file: file, ignoresOthers: true, environment: [:])
        #expect(try settings.value("broker", nil) { $0 } == "x")
        #expect(try settings.value("store", nil) { $0 } == nil)
    }

    @Test(
        "is told where it is neither a value nor a list",
        arguments: ["broker: {a: b}\n", "broker: []\n", "broker:\n  a: b\n"])
    func nested(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file):1: 'broker' takes a value or a list of values")
    }

    @Test("is told where a list holds something else than values")
    func nestedInList() throws {
        let file = try write("broker: [a, {b: c}]\n")
        let told = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(told == "\(file):1: 'broker' takes a value or a list of values")
    }

    @Test("is told where the file is no mapping", arguments: ["just a text\n", "- a\n- b\n", "42\n"])
    func noMapping(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(names: names, file: file, environment: [:]) }
                == "\(file): settings are written 'name: value', a line each")
    }

    @Test(
        "is told with file and line where the file is no YAML",
        arguments: ["broker: [a\nb: c\n", "broker: 'x\n", "a: b: c\n"])
    func noYAML(_ text: String) throws {
        let file = try write(text)
        let told = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(told?.contains(#/^\S+\.yaml:[1-3]:\d+: \w+/#) == true)
        #expect(told?.hasPrefix("\(file):") == true)
    }

    @Test("is told where it is given twice in the file")
    func twice() throws {
        let file = try write("broker: a\n\nbroker: b\n")
        let told = failure { _ = try Settings(names: names, file: file, environment: [:]) }
        #expect(told == "\(file):3: 'broker' is given a second time; the first is in line 1")
    }

    @Test("is told where the file can't be read")
    func noFile() throws {
        let path = TemporaryFolder.path + "/missing.yaml"
        let text = "the configuration file \(path) can't be read: does it exist, and as UTF-8?"
        #expect(failure { _ = try Settings(names: names, file: path, environment: [:]) } == text)
        try Data([0xff, 0xfe, 0x80]).write(to: URL(filePath: path))
        #expect(failure { _ = try Settings(names: names, file: path, environment: [:]) } == text)
    }
}

@Suite("The options for a broker", .temporaryFolder)
struct BrokerOptionsTests {
    @Test("have defaults")
    func defaults() throws {
        let options = try BrokerOptions.parse([])
        let settings = try Settings(names: BrokerOptions.names, file: nil, environment: [:])
        #expect(try options.address(settings) == BrokerAddress(host: "localhost", port: 1883))
        #expect(try options.version(settings) == nil)
        #expect(try options.tls(settings) == TLSOptions())
    }

    @Test("are read from everywhere")
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
        "may ask for any version of MQTT",
        arguments: [("auto", nil), ("5", .five), ("3.1.1", .three)] as [(String, MQTTVersion?)])
    func versions(_ text: String, _ version: MQTTVersion?) throws {
        let settings = try Settings(names: BrokerOptions.names, file: nil, environment: [:])
        #expect(try BrokerOptions.parse(["--mqtt", text]).version(settings) == version)
    }

    @Test("tell what is wrong, and never a password")
    func errors() throws {
        let settings = try Settings(
            names: BrokerOptions.names, file: nil, environment: ["LOCKSTEP_BROKER": "mqtt://me:secret@host:x"])
        let options = try BrokerOptions.parse(["--mqtt", "4"])
        #expect(
            failure { _ = try options.version(settings) } == "--mqtt: '4' is no version of MQTT: write auto, 5 or 3.1.1"
        )
        #expect(
            failure { _ = try options.address(settings) }
                == "LOCKSTEP_BROKER: not a broker address: its port is not 1 to 65535; write mqtt[s]://[user[:password]@]host[:port]"
        )
    }
}
