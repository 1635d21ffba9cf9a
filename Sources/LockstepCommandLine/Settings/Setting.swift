import ArgumentParser

/// A setting of a program, declared once: the setting `backlog-rate` is the option `--backlog-rate`, the environment
/// variable `LOCKSTEP_BACKLOG_RATE` and the key `backlog-rate` of the settings file.
///
/// Settings are constants of a ``SettingGroup``. ``Settings`` has their values.
public struct Setting<Value>: Sendable {
    /// The name, such as `backlog-rate`.
    public let name: String
    let declaration: SettingDeclaration
    let parse: @Sendable (String) throws -> Value
    var commandLine: [String] = []

    private init(_ declaration: SettingDeclaration, _ parse: @escaping @Sendable (String) throws -> Value) {
        name = declaration.name
        self.declaration = declaration
        self.parse = parse
    }

    /// Declares a setting with one value.
    /// - Parameters:
    ///   - help: the text for `--help`, with the default value.
    ///   - parse: converts the text of the value. The name of its origin is put before its errors.
    public init(_ name: String, _ help: String, _ parse: @escaping @Sendable (String) throws -> Value) {
        self.init(SettingDeclaration(name: name, form: .value(ArgumentHelp(help))), parse)
    }

    /// Declares a setting with the path of a file that the program reads. In the settings file, a relative path is relative to
    /// the folder of that file.
    public static func file(
        _ name: String, _ help: String, _ parse: @escaping @Sendable (String) throws -> Value
    ) -> Self {
        Self(SettingDeclaration(name: name, form: .value(ArgumentHelp(help)), isPath: true), parse)
    }

    /// Declares a setting with pairs of texts: an option `NAME=VALUE` that may be repeated, and a mapping in the file.
    /// - Parameter placeholder: the text for a pair in `--help`.
    public static func pairs(
        _ name: String, placeholder: String, _ help: String, _ parse: @escaping @Sendable (String) throws -> Value
    ) -> Self {
        Self(SettingDeclaration(name: name, form: .pairs(ArgumentHelp(help, valueName: placeholder))), parse)
    }

    /// Declares a setting with several values: an option that may be repeated, and a list in the file.
    /// - Parameter placeholder: the text for a value in `--help`; nil for the name.
    public static func list(
        _ name: String, placeholder: String? = nil, _ help: String,
        _ parse: @escaping @Sendable (String) throws -> Value
    ) -> Self {
        Self(
            SettingDeclaration(name: name, form: .list(ArgumentHelp(help, valueName: placeholder))), parse)
    }
}

extension Setting<String> {
    /// Declares a setting whose value is its text, or whose text is parsed where it is read.
    public init(_ name: String, _ help: String) { self.init(name, help) { $0 } }

    /// Declares a setting with the path of a file that the program reads.
    public static func file(_ name: String, _ help: String) -> Self { file(name, help) { $0 } }

    /// Declares a setting with several texts.
    public static func list(_ name: String, placeholder: String? = nil, _ help: String) -> Self {
        list(name, placeholder: placeholder, help) { $0 }
    }

    /// Declares a setting without an option, because every user of a machine can read the command line of every process.
    public static func secret(_ name: String) -> Self { Self(SettingDeclaration(name: name, form: .hidden)) { $0 } }
}

extension Setting<Bool> {
    /// Declares a flag on the command line, which is `true` or `false` in the environment and in the file.
    public static func flag(_ name: String, _ help: String) -> Self {
        Self(SettingDeclaration(name: name, form: .flag(ArgumentHelp(help))), boolean)
    }
}

extension Setting<Never> {
    /// Declares a section of the settings file, which has no option and no variable.
    public static func section(_ name: String) -> Self {
        Self(SettingDeclaration(name: name, form: .section)) { _ in
            throw CommandFailure("'\(name)' is a section of the settings file")
        }
    }

    /// The section with the streams of your own.
    public static var streams: Self { section(StreamSettings.key) }
}

/// What the command line, the environment and the settings file need to know of a setting.
struct SettingDeclaration: Sendable {
    enum Form: Sendable {
        case value(ArgumentHelp)
        case list(ArgumentHelp)
        case pairs(ArgumentHelp)
        case flag(ArgumentHelp)
        case hidden
        case section
    }

    let name: String
    let form: Form
    /// Whether the value is the path of a file.
    var isPath = false
}

private protocol DeclaredSetting { var declaration: SettingDeclaration { get } }

extension Setting: DeclaredSetting {}

/// Constants that declare settings: each stored property is a ``Setting``, or another group.
public protocol SettingGroup: Sendable {
    /// Creates the constants.
    init()
}

extension SettingGroup {
    /// The declarations of this group and of the groups in it, in their order.
    var declarations: [SettingDeclaration] {
        Mirror(reflecting: self).children.flatMap { child in
            (child.value as? any SettingGroup)?.declarations
                ?? (child.value as? any DeclaredSetting).map { [$0.declaration] } ?? []
        }
    }
}

/// The streams of your own, for commands without other settings.
public struct StreamSection: SettingGroup {
    let streams = Setting.streams

    public init() {}
}
