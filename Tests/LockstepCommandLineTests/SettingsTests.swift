import ArgumentParser
import FoundationEssentials
import Glibc
import LockstepCommandLine
import LockstepMQTT
import LockstepTestSupport
import Testing

/// Settings of each form.
private struct Declared: SettingGroup {
    let broker = Setting("broker", "A broker.")
    let backlogRate = Setting("backlog-rate", "A rate.")
    let source = Setting.list("source", "Sources.")
    let keep = Setting<String>.pairs("keep", placeholder: "name=age", "Ages.") { $0 }
    let strict = Setting.flag("strict", "A flag.")
    let secrets = Secrets()
    let streams = Setting.streams
    let map = Setting.section("map")

    struct Secrets: SettingGroup { let password = Setting.secret("password") }
}

private func options(_ arguments: String...) throws -> Options<Declared> { try .parse(arguments) }

@Suite("Settings", .temporaryFolder)
struct SettingsTests {
    @Test("the command line takes precedence over the environment, and the environment over the file")
    func precedence() throws {
        let file = try write("backlog-rate: file\n")
        let all = try Settings(of: [Declared.self], file: file, environment: ["LOCKSTEP_BACKLOG_RATE": "variable"])
        #expect(try all.value(options("--backlog-rate", "option").backlogRate) == "option")
        #expect(try all.value(options().backlogRate) == "variable")
        let fileOnly = try Settings(of: [Declared.self], file: file, environment: [:])
        #expect(try fileOnly.value(options().backlogRate) == "file")
        let none = try Settings(of: [Declared.self], file: nil, environment: [:])
        #expect(try none.value(options().backlogRate) == nil)
    }

    @Test("the values of a list come from one origin and are never merged")
    func lists() throws {
        let file = try write("source: [a, 'b,c']\n")
        let all = try Settings(of: [Declared.self], file: file, environment: ["LOCKSTEP_SOURCE": "x, y ,z"])
        #expect(try all.values(options("--source", "o,p").source) == ["o,p"])
        #expect(try all.values(options().source) == ["x", "y", "z"])
        let fileOnly = try Settings(of: [Declared.self], file: file, environment: [:])
        #expect(try fileOnly.values(options().source) == ["a", "b,c"])
        let none = try Settings(of: [Declared.self], file: nil, environment: [:])
        #expect(try none.values(options().source).isEmpty)
    }

    @Test("pairs are an option with NAME=VALUE, and a mapping or a list in the file")
    func pairs() throws {
        func values(_ text: String) throws -> [String] {
            try Settings(of: [Declared.self], file: write(text), environment: [:]).values(options().keep)
        }
        #expect(try values("keep: { 'a/*': 7d, b: 90d }\n") == ["a/*=7d", "b=90d"])
        #expect(try values("keep: [a=1, b=2]\n") == ["a=1", "b=2"])
        let none = try Settings(of: [Declared.self], file: nil, environment: ["LOCKSTEP_KEEP": "a=1,b=2"])
        #expect(try none.values(options("--keep", "c=3").keep) == ["c=3"])
        #expect(try none.values(options().keep) == ["a=1", "b=2"])
        let error = #expect(throws: CommandFailure.self) { try values("keep: { a: { b: c } }\n") }
        #expect(error?.description.contains("'keep' expects 'name: value' pairs") == true)
    }

    @Test("an empty environment variable is ignored")
    func emptyVariable() throws {
        let settings = try Settings(of: [Declared.self], file: nil, environment: ["LOCKSTEP_BROKER": ""])
        #expect(try settings.value(options().broker) == nil)
    }

    @Test("LOCKSTEP_CONFIG names the file")
    func fileVariable() throws {
        let file = try write("broker: mqtt://host\n")
        let settings = try Settings(of: [Declared.self], file: nil, environment: ["LOCKSTEP_CONFIG": file])
        #expect(try settings.value(options().broker) == "mqtt://host")
    }

    @Test("an empty LOCKSTEP_CONFIG is ignored")
    func emptyFileVariable() throws {
        let settings = try Settings(of: [Declared.self], file: nil, environment: ["LOCKSTEP_CONFIG": ""])
        #expect(try settings.value(options().broker) == nil)
    }

    @Test("one declaration gives the option with its help, the variable and the key of the file")
    func declaration() throws {
        let help = Options<Declared>.helpMessage()
        for option in ["--broker <broker>       A broker.", "--source <source>       Sources.", "--strict "] {
            #expect(help.contains(option), "\(help)")
        }
        #expect(!help.contains("password") && !help.contains("--map") && !help.contains("--streams"), "\(help)")
        let file = try write("strict: yes\nmap: {a: b}\npassword: x\nstreams: {}\n")
        let settings = try Settings(
            of: [Declared.self], file: file, environment: ["LOCKSTEP_PASSWORD": "y", "LOCKSTEP_MAP": "z"])
        #expect(try settings.isOn(options().strict) && settings.isOn(options("--strict").strict))
        #expect(try settings.value(options().secrets.password) == "y")
        #expect(settings.section(try options().map)?.node.line == 2)
        #expect(throws: (any Error).self) { try options("--password", "x") }
    }

    @Test("a flag that is not Boolean is refused")
    func flag() throws {
        let settings = try Settings(of: [Declared.self], file: nil, environment: ["LOCKSTEP_STRICT": "maybe"])
        #expect(
            failure { _ = try settings.isOn(options().strict) }
                == "LOCKSTEP_STRICT: 'maybe' is not a Boolean: use true or false")
    }

    @Test("environment variables have underscores instead of hyphens")
    func variables() { #expect(Settings.variable(for: "backlog-rate") == "LOCKSTEP_BACKLOG_RATE") }

    @Test(
        "a file may be empty", arguments: ["", "\n", "# only a comment\n"])
    func emptyFile(_ text: String) throws {
        let settings = try Settings(of: [Declared.self], file: try write(text), environment: [:])
        #expect(try settings.value(options().broker) == nil)
    }

    @Test("a file may contain only a document marker and comments")
    func emptyDocument() throws {
        let file = try write("---\n# broker: mqtt://localhost\n")
        let error = failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
        #expect(error == nil)
    }

    @Test("values in the file are text and are not converted to numbers or booleans")
    func texts() throws {
        let settings = try Settings(
            of: [Declared.self], file: try write("broker: 007\nbacklog-rate: yes\nsource: 1.50\n"), environment: [:])
        #expect(try settings.value(options().broker) == "007")
        #expect(try settings.value(options().backlogRate) == "yes")
        #expect(try settings.values(options().source) == ["1.50"])
    }
}

@Suite("Invalid settings", .temporaryFolder)
struct SettingsErrorTests {
    @Test("an error names the option, the environment variable, or the line of the file")
    func origins() throws {
        let file = try write("# first\nbroker: x\n\nbacklog-rate: much\n")
        let fileOnly = try Settings(of: [Declared.self], file: file, environment: [:])
        let both = try Settings(of: [Declared.self], file: file, environment: ["LOCKSTEP_BACKLOG_RATE": "more"])
        let reason = { (text: String) in "'\(text)' is not a size in bytes: use 65536, 64K, 256M or 1G" }
        #expect(
            failure { _ = try both.value(options("--backlog-rate", "most").backlogRate, parse: byteCount) }
                == "--backlog-rate: \(reason("most"))"
        )
        #expect(
            failure { _ = try both.value(options().backlogRate, parse: byteCount) }
                == "LOCKSTEP_BACKLOG_RATE: \(reason("more"))")
        #expect(
            failure { _ = try fileOnly.value(options().backlogRate, parse: byteCount) }
                == "backlog-rate in \(file):4: \(reason("much"))")
        #expect(
            failure { _ = try fileOnly.values(options().backlogRate, parse: byteCount) }
                == "backlog-rate in \(file):4: \(reason("much"))")
    }

    @Test("a list for a setting with one value is refused")
    func listForOne() throws {
        let file = try write("broker: [a, b]\n")
        let settings = try Settings(of: [Declared.self], file: file, environment: [:])
        #expect(
            failure { _ = try settings.value(options().broker) }
                == "broker in \(file):1: expects one value, not a list")
    }

    @Test("an unknown setting is refused")
    func unknownName() throws {
        let file = try write("broker: x\nbrokre: y\n")
        #expect(
            failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
                == "\(file):2: unknown key 'brokre' of the file; known keys: broker, backlog-rate, source, keep, strict, password, streams, map"
        )
    }

    @Test("an unknown setting is ignored in a file shared with other programs")
    func otherProgram() throws {
        let file = try write("broker: x\nstore: y\n")
        let settings = try Settings(of: [Declared.self], file: file, ignoresUnknownKeys: true, environment: [:])
        #expect(try settings.value(options().broker) == "x")
    }

    @Test(
        "a setting that is neither a value nor a list is refused",
        arguments: ["broker: {a: b}\n", "broker: []\n", "broker:\n  a: b\n"])
    func nested(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
                == "\(file):1: 'broker' expects a value or a list of values")
    }

    @Test("a list that contains a mapping is refused")
    func nestedInList() throws {
        let file = try write("broker: [a, {b: c}]\n")
        let error = failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
        #expect(error == "\(file):1: 'broker' expects a value or a list of values")
    }

    @Test("a file that is not a mapping is refused", arguments: ["just a text\n", "- a\n- b\n", "42\n"])
    func noMapping(_ text: String) throws {
        let file = try write(text)
        #expect(
            failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
                == "\(file):1: the file is not a mapping: write it as 'key: value' lines")
    }

    @Test(
        "invalid YAML is reported with file and line",
        arguments: ["broker: [a\nb: c\n", "broker: 'x\n", "a: b: c\n"])
    func noYAML(_ text: String) throws {
        let file = try write(text)
        let error = failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
        #expect(error?.contains(#/^\S+\.yaml:[1-3]:\d+: \w+/#) == true)
        #expect(error?.hasPrefix("\(file):") == true)
    }

    @Test("a setting that appears twice in the file is refused")
    func twice() throws {
        let file = try write("broker: a\n\nbroker: b\n")
        let error = failure { _ = try Settings(of: [Declared.self], file: file, environment: [:]) }
        #expect(error == "\(file):3: 'broker' of the file is written twice; the first is on line 1")
    }

    @Test("a file that is missing, a folder or not UTF-8 is reported with its path and what to do")
    func noFile() throws {
        func error(_ path: String) -> String? {
            let text = failure { _ = try Settings(of: [Declared.self], file: path, environment: [:]) }
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
        let settings = try Settings(of: [BrokerSettings.self], file: nil, environment: [:])
        #expect(try options.address(settings) == BrokerAddress(host: "localhost", port: 1883))
        #expect(try options.version(settings) == nil)
        #expect(try options.tls(settings) == TLSOptions())
    }

    @Test("options are read from the command line, the environment and the file")
    func places() throws {
        let options = try BrokerOptions.parse(["--mqtt", "3.1.1"])
        let settings = try Settings(
            of: [BrokerSettings.self], file: try write("ca-file: /ca.pem\nmqtt: '5'\n"),
            environment: ["LOCKSTEP_BROKER": "mqtts://host"])
        #expect(try options.address(settings) == BrokerAddress(host: "host", port: 8883, usesTLS: true))
        #expect(try options.version(settings) == .three)
        #expect(try options.tls(settings) == TLSOptions(authorityFile: "/ca.pem"))
    }

    @Test(
        "the path of a file that is read is relative to the settings file, and on the command line to the current folder"
    )
    func paths() throws {
        let file = try write("broker: mqtts://host\nca-file: ca.pem\ncert-file: /c.pem\nkey-file: k.pem\n")
        let folder = file[...(try #require(file.lastIndex(of: "/")))]
        let key = String(folder + "k.pem")
        try Data().write(to: URL(filePath: key))
        #expect(chmod(key, 0o600) == 0)
        let settings = try Settings(of: [BrokerSettings.self], file: file, environment: [:])
        #expect(
            try BrokerOptions.parse([]).tls(settings)
                == TLSOptions(authorityFile: String(folder + "ca.pem"), certificateFile: "/c.pem", keyFile: key))
        #expect(try BrokerOptions.parse(["--ca-file", "ca.pem"]).tls(settings).authorityFile == "ca.pem")
    }

    @Test(
        "each MQTT version can be selected",
        arguments: [("auto", nil), ("5", .five), ("3.1.1", .three)] as [(String, MQTTVersion?)])
    func versions(_ text: String, _ version: MQTTVersion?) throws {
        let settings = try Settings(of: [BrokerSettings.self], file: nil, environment: [:])
        #expect(try BrokerOptions.parse(["--mqtt", text]).version(settings) == version)
    }

    @Test("errors never contain the password")
    func errors() throws {
        let settings = try Settings(
            of: [BrokerSettings.self], file: nil, environment: ["LOCKSTEP_BROKER": "mqtt://me:secret@host:x"])
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
