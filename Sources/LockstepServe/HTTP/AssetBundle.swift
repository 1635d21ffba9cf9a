/// One file with a script or a style sheet and all that it imports, so that a browser needs one request for them.
///
/// It relies on the form of the page's own files: an import is one line, with names in braces; an export is a declaration
/// at the beginning of a line; no text spans lines, so that indentation can be left out; and no module imports itself
/// through others.
struct AssetBundle {
    /// Reads a file by its path in the folder of the page's assets.
    private let read: (String) throws -> String
    /// The modules so far, by path, with the names of the constants that have their exports.
    private var names: [String: String] = [:]
    private var text = ""
    private let entry: String

    /// Returns the bundle of a script or style sheet.
    /// - Throws: the error of `read`.
    static func make(_ entry: String, read: @escaping (String) throws -> String) throws -> String {
        var bundle = AssetBundle(read: read, entry: entry)
        if entry.hasSuffix(".css") { try bundle.addStyle(entry) } else { try bundle.addModule(entry) }
        return bundle.text
    }

    private init(read: @escaping (String) throws -> String, entry: String) {
        self.read = read
        self.entry = entry
    }

    private mutating func addStyle(_ path: String) throws {
        for line in try read(path).split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("@import "), let file = Self.quoted(line) {
                try addStyle(Self.resolve(file, from: path))
            } else {
                text += line.isEmpty ? "" : "\(line.drop { $0 == " " })\n"
            }
        }
    }

    private mutating func addModule(_ path: String) throws {
        guard names[path] == nil else { return }
        names[path] = "m\(names.count)"
        let source = Self.withoutComments(try read(path))
        var body = ""
        var exports: [Substring] = []
        for line in source {
            if line.hasPrefix("import {"), let file = Self.quoted(line), let end = line.firstIndex(of: "}") {
                let imported = Self.resolve(file, from: path)
                try addModule(imported)
                let list = line[line.index(line.startIndex, offsetBy: 8)..<end].replacing(" as ", with: ": ")
                body += "const {\(list)} = \(names[imported] ?? "");\n"
            } else if line.hasPrefix("export ") {
                let declaration = line.dropFirst(7)
                if let name = Self.declaredName(declaration) { exports.append(name) }
                body += "\(declaration)\n"
            } else {
                body += "\(line)\n"
            }
        }
        let up = String(repeating: "../", count: entry.split(separator: "/").count - 1)
        body = body.replacing("import.meta.url", with: "new URL(\"./\(up)\(path)\", import.meta.url).href")
        text +=
            "// \(path)\nconst \(names[path] ?? "") = (() => {\n\(body)return { \(exports.joined(separator: ", ")) };\n})();\n"
    }

    /// Returns the lines of a module without those that have only a comment, and without indentation: together they are a
    /// third of what is sent.
    private static func withoutComments(_ source: String) -> [Substring] {
        var isComment = false
        return source.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { text in
            if isComment {
                isComment = !text.contains("*/")
                return false
            }
            guard text.hasPrefix("/**") else { return !text.isEmpty && !text.hasPrefix("//") }
            isComment = !text.contains("*/")
            return !isComment && !text.hasSuffix("*/")
        }
    }

    /// Returns the name of a declaration, such as that of `async function load(path) {`.
    private static func declaredName(_ declaration: Substring) -> Substring? {
        declaration.split(separator: " ").first { !["async", "function", "class", "const"].contains($0) }?
            .prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
    }

    private static func quoted(_ line: Substring) -> Substring? {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
        return parts.count == 3 ? parts[1] : nil
    }

    /// Returns the path of a file that another one imports.
    private static func resolve(_ file: Substring, from path: String) -> String {
        var folders = path.split(separator: "/").dropLast()
        for part in file.split(separator: "/") where part != "." {
            if part == ".." { _ = folders.popLast() } else { folders.append(part) }
        }
        return folders.joined(separator: "/")
    }
}
