import FoundationEssentials
public import LockstepModel

/// The settings of a program, from its command line, its environment and a YAML file, in this order of precedence.
///
/// Each is declared once, as a ``Setting``.
///
/// Implemented here because swift-configuration reads YAML with Yams, which imports all of Foundation.
public struct Settings: Sendable {
    /// The origin of a setting.
    public enum Place: Hashable, Sendable {
        /// An option on the command line.
        case commandLine
        /// An environment variable.
        case environment
        /// The YAML file with this path.
        case file(String)
    }

    /// The text of a setting (or the texts of a list) and its origin.
    private struct Entry {
        let texts: [String]
        let origin: String
        let place: Place
    }

    private var names: [String] = []
    private var sections: Set<String> = []
    /// The names of the settings that are mappings in the file.
    private var mappings: Set<String> = []
    /// The names of the settings with a path.
    private var paths: Set<String> = []
    private var environment: [String: Entry] = [:]
    private var file: [String: Entry] = [:]
    private var streamSettings: (settings: StreamSettings, file: String)?
    private var nodes: [String: (node: YAMLNode, file: String)] = [:]

    /// The built-in streams and the streams declared in the section `streams` of the file.
    public var streams: StreamCatalog { streamSettings?.settings.catalog ?? .builtIn }

    /// Returns the place `FILE:LINE` of a stream's declaration, or nil if the file does not declare it.
    public func place(ofStream name: String) -> String? {
        streamSettings.flatMap { source in source.settings.lines[name].map { "\(source.file):\($0)" } }
    }

    /// Returns a section of the file, and the path of the file; nil if the file has no such section.
    public func section(_ section: Setting<Never>) -> (node: YAMLNode, file: String)? { nodes[section.name] }

    /// Reads the environment and the file.
    /// - Parameters:
    ///   - groups: the declarations of all settings.
    ///   - file: the path of the YAML file; nil for the one named by `LOCKSTEP_CONFIG`, if any.
    ///   - ignoresUnknownKeys: whether to ignore unknown keys in the file instead of refusing them.
    ///   - environment: the environment; nil for that of the process.
    /// - Throws: ``CommandFailure`` for an unreadable file, invalid YAML, or an unknown or repeated key.
    public init(
        of groups: [any SettingGroup.Type], file path: String?, ignoresUnknownKeys: Bool = false,
        environment: [String: String]? = nil
    ) throws {
        let environment = environment ?? ProcessInfo.processInfo.environment
        for declaration in groups.flatMap({ $0.init().declarations }) {
            names.append(declaration.name)
            if case .section = declaration.form {
                sections.insert(declaration.name)
                continue
            }
            if case .pairs = declaration.form { mappings.insert(declaration.name) }
            if declaration.isPath { paths.insert(declaration.name) }
            let variable = Self.variable(for: declaration.name)
            if let text = environment[variable], !text.isEmpty {
                self.environment[declaration.name] = Entry(texts: [text], origin: variable, place: .environment)
            }
        }
        let defaultPath = environment["LOCKSTEP_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let path = path ?? defaultPath { try read(path, ignoresUnknownKeys: ignoresUnknownKeys) }
    }

    /// Returns the environment variable of a setting.
    public static func variable(for name: String) -> String {
        "LOCKSTEP_" + name.uppercased().replacing("-", with: "_")
    }

    /// Returns the value of a setting, or nil if it is not set.
    /// - Throws: ``CommandFailure`` for an invalid value; its text names the origin of the value.
    public func value<Value>(_ setting: Setting<Value>) throws -> Value? {
        try value(setting, parse: setting.parse)
    }

    /// Returns the value of a setting, or nil if it is not set.
    /// - Parameter parse: converts the text instead of the function in the declaration.
    /// - Throws: ``CommandFailure`` for an invalid value; its text names the origin of the value.
    public func value<Declared, Value>(
        _ setting: Setting<Declared>, parse: (String) throws -> Value
    ) throws -> Value? {
        guard let entry = find(setting) else { return nil }
        guard entry.texts.count == 1 else { throw CommandFailure("\(entry.origin): expects one value, not a list") }
        return try Self.parse(entry.texts[0], from: entry.origin, parse)
    }

    /// Sets a variable to the value of a setting; leaves it unchanged if the setting is not set.
    /// - Throws: ``CommandFailure`` for an invalid value; its text names the origin of the value.
    public func assign<Value>(_ setting: Setting<Value>, to variable: inout Value) throws {
        if let value = try value(setting) { variable = value }
    }

    /// Returns whether a flag is set.
    /// - Throws: ``CommandFailure`` for a value that is not Boolean; its text names the origin of the value.
    public func isOn(_ flag: Setting<Bool>) throws -> Bool { try value(flag) ?? false }

    /// Returns the values of a setting that accepts a list; empty if it is not set. In the environment, values are
    /// separated by commas.
    /// - Throws: ``CommandFailure`` for an invalid value; its text names the origin of the value.
    public func values<Value>(_ setting: Setting<Value>) throws -> [Value] {
        try values(setting, parse: setting.parse)
    }

    /// Returns the values of a setting that accepts a list; empty if it is not set.
    /// - Parameter parse: converts each text instead of the function in the declaration.
    /// - Throws: ``CommandFailure`` for an invalid value; its text names the origin of the value.
    public func values<Declared, Value>(
        _ setting: Setting<Declared>, parse: (String) throws -> Value
    ) throws -> [Value] {
        guard let entry = find(setting) else { return [] }
        let texts =
            entry.place == .environment
            ? entry.texts.flatMap { $0.split(separator: ",").map { String($0.trimmingSpaces()) } } : entry.texts
        return try texts.map { try Self.parse($0, from: entry.origin, parse) }
    }

    /// Returns the origin of a setting's value, or nil if it is not set.
    public func place<Value>(of setting: Setting<Value>) -> Place? { find(setting)?.place }

    private func find<Value>(_ setting: Setting<Value>) -> Entry? {
        precondition(names.contains(setting.name), "the setting '\(setting.name)' is in none of the declared groups")
        if !setting.commandLine.isEmpty {
            return Entry(texts: setting.commandLine, origin: "--\(setting.name)", place: .commandLine)
        }
        return environment[setting.name] ?? file[setting.name]
    }

    private static func parse<Value>(
        _ text: String, from origin: String, _ parse: (String) throws -> Value
    ) throws -> Value {
        do { return try parse(text) } catch { throw CommandFailure("\(origin): \(error)") }
    }

    private mutating func read(_ path: String, ignoresUnknownKeys: Bool) throws {
        let text = try TextFile.read(path, "the configuration file")
        let root: YAMLNode?
        do { root = try YAMLNode.read(text) } catch { throw CommandFailure("\(path):\(error)") }
        // The file is empty, or contains only comments.
        guard let root else { return }
        let fields = try Fields(root, "the file", file: path)
        if !ignoresUnknownKeys { try fields.checkKeys(names) }
        for (name, node, line) in fields.entries where names.contains(name) {
            let location = "\(path):\(line)"
            if name == StreamSettings.key {
                streamSettings = (try StreamSettings(node, file: path), path)
                continue
            }
            if sections.contains(name) {
                nodes[name] = (node, path)
                continue
            }
            let isMapping = mappings.contains(name)
            guard var texts = isMapping ? node.pairs : node.texts else {
                throw CommandFailure(
                    "\(location): '\(name)' expects "
                        + (isMapping ? "'name: value' pairs" : "a value or a list of values"))
            }
            if paths.contains(name), let slash = path.lastIndex(of: "/") {
                texts = texts.map { $0.hasPrefix("/") || $0.isEmpty ? $0 : path[...slash] + $0 }
            }
            file[name] = Entry(texts: texts, origin: "\(name) in \(location)", place: .file(path))
        }
    }
}

extension YAMLNode {
    /// The values of a setting: the text of a scalar, or the texts of a list of scalars; nil for any other node.
    fileprivate var texts: [String]? {
        switch content {
        case .scalar(let text): [text]
        case .sequence(let items):
            !items.isEmpty && items.allSatisfy { $0.scalar != nil } ? items.compactMap(\.scalar) : nil
        case .mapping: nil
        }
    }
}

extension YAMLNode {
    /// The pairs of a mapping of scalars as `NAME=VALUE`, the texts of a list of such pairs, or nil for any other node.
    fileprivate var pairs: [String]? {
        guard let pairs = mapping else { return texts }
        let texts = pairs.compactMap { pair in
            pair.key.scalar.flatMap { key in pair.value.scalar.map { "\(key)=\($0)" } }
        }
        return texts.count == pairs.count ? texts : nil
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> Substring {
        var text = self
        while text.first?.isWhitespace == true { text = text.dropFirst() }
        while text.last?.isWhitespace == true { text = text.dropLast() }
        return text
    }
}
