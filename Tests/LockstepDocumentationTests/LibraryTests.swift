import Foundation
import Testing

/// Checks that the Swift examples on documentation pages are the ones that this target compiles.
@Suite("Swift examples in the documentation")
struct LibraryTests {
    /// The `// EXAMPLE name` regions of LibraryExamples.swift and LibraryProgram.swift, without their common indentation.
    private static func examples() throws -> [String: String] {
        let files = try ["LibraryExamples.swift", "LibraryProgram.swift"].map { name in
            let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            return try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        }
        var examples: [String: [String]] = [:]
        var name: String?
        for line in files.joined(separator: "\n").components(separatedBy: "\n") {
            let text = line.trimmingCharacters(in: .whitespaces)
            if text.hasPrefix("// EXAMPLE ") {
                name = String(text.dropFirst("// EXAMPLE ".count))
            } else if text == "// END" {
                name = nil
            } else if let name {
                examples[name, default: []].append(text == "// @main" ? "@main" : line)
            }
        }
        return examples.mapValues { lines in
            let indentation = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }.min() ?? 0
            return normalised(lines.map { String($0.dropFirst(indentation)) })
        }
    }

    /// Text without the spaces that align comments, which swift-format removes.
    private static func normalised(_ lines: [String]) -> String {
        lines.map { line in
            let indentation = line.prefix { $0 == " " }
            return indentation + line.split(separator: " ").joined(separator: " ")
        }.joined(separator: "\n")
    }

    private static func pages() throws -> [String] {
        let files = FileManager.default.enumerator(
            at: Page.root.appendingPathComponent("Sources"), includingPropertiesForKeys: nil)
        let articles = files?.compactMap { $0 as? URL }.filter { $0.pathExtension == "md" }.map(\.path) ?? []
        return ["docs/library.md"] + articles.map { String($0.dropFirst(Page.root.path.count + 1)) }
    }

    @Test("a package that needs only the device library fetches no other package")
    func dependencies() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lockstep-\(UUID())")
        try FileManager.default.createDirectory(
            at: folder.appendingPathComponent("user/Sources/user"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        // The name of the folder is that of the package.
        try FileManager.default.createSymbolicLink(
            at: folder.appendingPathComponent("lockstep"), withDestinationURL: Page.root)
        let manifest = """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "user", dependencies: [.package(path: "../lockstep", traits: [])],
                targets: [
                    .executableTarget(
                        name: "user", dependencies: [.product(name: "LockstepDevice", package: "lockstep")])
                ])
            """
        try manifest.write(
            to: folder.appendingPathComponent("user/Package.swift"), atomically: true, encoding: .utf8)
        try "import LockstepDevice".write(
            to: folder.appendingPathComponent("user/Sources/user/main.swift"), atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["swift", "package", "--package-path", folder.path + "/user", "show-dependencies"]
        let output = folder.appendingPathComponent("output")
        try Data().write(to: output)
        process.standardOutput = try FileHandle(forWritingTo: output)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        let text = try String(contentsOf: output, encoding: .utf8)
        #expect(process.terminationStatus == 0)
        #expect(text.contains("lockstep<") && !text.contains("swift-nio"), "\(text)")
    }

    @Test("the complete program runs")
    func program() async throws { try await Program.main() }

    @Test("each is the same as in LibraryExamples.swift, which compiles")
    func compiled() throws {
        let examples = try Self.examples()
        var used: Set<String> = []
        for path in try Self.pages() {
            for block in try Page(path).blocks where block.language == "swift" {
                guard let name = block.arguments.first else {
                    Issue.record("\(path):\(block.line): name the example after 'swift'")
                    continue
                }
                guard name != "package" else { continue }
                #expect(examples[name] == Self.normalised(block.lines), "\(path):\(block.line)")
                used.insert(name)
            }
        }
        #expect(used == Set(examples.keys))
    }
}
