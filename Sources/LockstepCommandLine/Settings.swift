import FoundationEssentials
public import LockstepModel

/// A program's settings from its command line, its environment and a YAML file, in this order of precedence.
///
/// The setting `backlog-rate` is the option `--backlog-rate`, the variable `LOCKSTEP_BACKLOG_RATE` and the key
/// `backlog-rate` of the file.
public struct Settings: Sendable {
    /// Where a setting was found.
    public enum Place: Hashable, Sendable {
        case commandLine
        case environment
        /// The YAML file of this path.
        case file(String)
    }

    private struct Found {
        let texts: [String]
        let origin: String
        let place: Place
    }

    private var environment: [String: Found] = [:]
    private var file: [String: Found] = [:]
    private var streamSettings: (settings: StreamSettings, file: String)?

    /// The built-in streams, and those that the section `streams` of the file declares.
    public var streams: StreamCatalog { streamSettings?.settings.catalog ?? .builtIn }

    /// Returns the place `FILE:LINE` of a stream's declaration, or nil if the file does not declare it.
    public func place(ofStream name: String) -> String? {
        streamSettings.flatMap { source in source.settings.lines[name].map { "\(source.file):\($0)" } }
    }

    /// Reads environment and file.
    /// - Parameters:
    ///   - file: path of the YAML file, if there is one.
    ///   - names: every setting there is: another key in the file is an error.
    ///   - ignoresOthers: pass over keys of the file that are not among the names, instead of refusing them.
    ///   - environment: nil for that of the process.
    /// - Throws: ``CommandFailure``
    public init(
        names: [String], file path: String?, ignoresOthers: Bool = false, environment: [String: String]? = nil
    ) throws {
        let environment = environment ?? ProcessInfo.processInfo.environment
        for name in names where name != StreamSettings.key {
            let variable = Self.variable(for: name)
            if let text = environment[variable], !text.isEmpty {
                self.environment[name] = Found(texts: [text], origin: variable, place: .environment)
            }
        }
        let named = environment["LOCKSTEP_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        if let path = path ?? named {
            try read(path, names: names, ignoresOthers: ignoresOthers)
        }
    }

    /// The environment's name for a setting.
    public static func variable(for name: String) -> String {
        "LOCKSTEP_" + name.uppercased().replacing("-", with: "_")
    }

    /// The value of a setting; nil where nobody gave one.
    /// - Throws: ``CommandFailure`` that names where the value came from.
    public func value<Value>(
        _ name: String, _ commandLine: String?, parse: (String) throws -> Value
    ) throws -> Value? {
        guard let found = find(name, commandLine.map { [$0] } ?? []) else { return nil }
        guard found.texts.count == 1 else { throw CommandFailure("\(found.origin): takes one value") }
        return try Self.parse(found.texts[0], from: found.origin, parse)
    }

    /// The values of a setting that may be given more than once; in the environment separated by commas.
    /// - Throws: ``CommandFailure`` that names where the value came from.
    public func values<Value>(
        _ name: String, _ commandLine: [String], parse: (String) throws -> Value
    ) throws -> [Value] {
        guard let found = find(name, commandLine) else { return [] }
        let texts =
            found.origin == Self.variable(for: name)
            ? found.texts.flatMap { $0.split(separator: ",").map { String($0.trimmingSpaces()) } } : found.texts
        return try texts.map { try Self.parse($0, from: found.origin, parse) }
    }

    /// Where the value of a setting comes from; nil where nobody gave one.
    public func place(of name: String, _ commandLine: String?) -> Place? {
        find(name, commandLine.map { [$0] } ?? [])?.place
    }

    private func find(_ name: String, _ commandLine: [String]) -> Found? {
        if !commandLine.isEmpty { return Found(texts: commandLine, origin: "--\(name)", place: .commandLine) }
        return environment[name] ?? file[name]
    }

    private static func parse<Value>(
        _ text: String, from origin: String, _ parse: (String) throws -> Value
    ) throws -> Value {
        do { return try parse(text) } catch { throw CommandFailure("\(origin): \(error)") }
    }

    private mutating func read(_ path: String, names: [String], ignoresOthers: Bool) throws {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw CommandFailure("the configuration file \(path) can't be read: does it exist, and as UTF-8?")
        }
        let root: YAMLNode?
        do { root = try YAMLNode.read(text) } catch { throw CommandFailure("\(path):\(error)") }
        // Nothing but comments, say.
        guard let root else { return }
        guard case .mapping(let pairs) = root.content else {
            throw CommandFailure("\(path): settings are written 'name: value', a line each")
        }
        var lines: [String: Int] = [:]
        for pair in pairs {
            let name = pair.key.scalar ?? ""
            let mark = "\(path):\(pair.key.line)"
            if let line = lines.updateValue(pair.key.line, forKey: name) {
                throw CommandFailure("\(mark): '\(name)' is given a second time; the first is in line \(line)")
            }
            guard names.contains(name) else {
                if ignoresOthers { continue }
                throw CommandFailure("\(mark): unknown setting '\(name)'; known are \(names.joined(separator: ", "))")
            }
            if name == StreamSettings.key {
                streamSettings = (try StreamSettings(pair.value, file: path), path)
                continue
            }
            guard let texts = pair.value.texts else {
                throw CommandFailure("\(mark): '\(name)' takes a value or a list of values")
            }
            file[name] = Found(texts: texts, origin: "\(name) in \(mark)", place: .file(path))
        }
    }
}

extension YAMLNode {
    /// The values of a setting: of a scalar its text, of a list of scalars theirs; nil of anything else.
    fileprivate var texts: [String]? {
        switch content {
        case .scalar(let text): [text]
        case .sequence(let items):
            !items.isEmpty && items.allSatisfy { $0.scalar != nil } ? items.compactMap(\.scalar) : nil
        case .mapping: nil
        }
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
