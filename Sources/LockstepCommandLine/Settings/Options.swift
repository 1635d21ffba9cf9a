public import ArgumentParser

/// The options on the command line of a group of settings. A command has them as an `@OptionGroup`.
///
/// A member is a setting of the group with its texts on the command line, for ``Settings/value(_:)``.
@dynamicMemberLookup
public struct Options<Group: SettingGroup>: ParsableArguments {
    private let group = Group()
    private var texts: [String: [String]] = [:]

    /// Creates options without values.
    public init() {}

    /// Decodes the options that ArgumentParser has parsed.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        for declaration in group.declarations {
            let key = Key(stringValue: declaration.name)
            switch declaration.form {
            case .value:
                let text = try container.decode(Option<String?>.self, forKey: key).wrappedValue
                texts[declaration.name] = text.map { [$0] }
            case .list, .pairs:
                texts[declaration.name] = try container.decode(Option<[String]>.self, forKey: key).wrappedValue
            case .flag:
                let isSet = try container.decode(Flag<Bool>.self, forKey: key).wrappedValue
                texts[declaration.name] = isSet ? ["true"] : []
            case .hidden, .section: break
            }
        }
    }

    /// A setting with its texts on the command line.
    public subscript<Value>(dynamicMember path: KeyPath<Group, Setting<Value>>) -> Setting<Value> {
        var setting = group[keyPath: path]
        setting.commandLine = texts[setting.name] ?? []
        return setting
    }

    /// The options of a group in this one.
    public subscript<Part: SettingGroup>(dynamicMember path: KeyPath<Group, Part>) -> Options<Part> {
        var options = Options<Part>()
        options.texts = texts
        return options
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension Options: CustomReflectable {
    /// The options as ArgumentParser finds them: it reflects a command for its properties with wrappers.
    public var customMirror: Mirror {
        let options = group.declarations.compactMap { declaration -> (String, Any)? in
            let name = NameSpecification.customLong(declaration.name)
            switch declaration.form {
            case .value(let help): return (declaration.name, Option<String?>(name: name, help: help))
            case .list(let help), .pairs(let help):
                return (declaration.name, Option<[String]>(wrappedValue: [], name: name, help: help))
            case .flag(let help): return (declaration.name, Flag<Bool>(wrappedValue: false, name: name, help: help))
            case .hidden, .section: return nil
            }
        }
        return Mirror(self, children: options.map { (label: $0.0, value: $0.1) })
    }
}

/// The option for the settings file, shared by all programs.
public struct SettingsFile: ParsableArguments {
    /// The value of `--config`.
    @Option(help: "YAML file with settings (default: the file named by LOCKSTEP_CONFIG, if set).")
    public var config: String?

    /// Creates the option without a value.
    public init() {}
}
