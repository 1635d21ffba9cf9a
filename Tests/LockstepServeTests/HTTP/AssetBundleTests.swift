import Foundation
import LockstepTestSupport
import Testing

@testable import LockstepServe

@Suite("Bundles of the page's files")
struct AssetBundleTests {
    private struct Missing: Error {}

    private func bundle(_ entry: String, _ files: [String: String]) throws -> String {
        try AssetBundle.make(entry) { path in
            guard let text = files[path] else { throw Missing() }
            return text
        }
    }

    @Test("a script contains each module that it imports once, before those that use it")
    func modules() throws {
        let text = try bundle(
            "main.js",
            [
                "main.js":
                    "import { a as first } from \"./pure/a.js\";\nimport { B } from \"./core/b.js\";\nfirst(B);\n",
                "pure/a.js":
                    "/** A comment. */\n/**\n * Another.\n */\n\nexport async function a(x) {\n    // No.\n    /** @type {X} */ (x);\n}\n",
                "core/b.js":
                    "import { a } from \"../pure/a.js\";\nexport class B extends C {\n}\nconst own = import.meta.url;\nexport const c = a(own);\n",
            ])
        #expect(
            text == """
                // pure/a.js
                const m1 = (() => {
                async function a(x) {
                /** @type {X} */ (x);
                }
                return { a };
                })();
                // core/b.js
                const m2 = (() => {
                const { a } = m1;
                class B extends C {
                }
                const own = new URL("./core/b.js", import.meta.url).href;
                const c = a(own);
                return { B, c };
                })();
                // main.js
                const m0 = (() => {
                const { a: first } = m1;
                const { B } = m2;
                first(B);
                return {  };
                })();

                """)
    }

    @Test("a style sheet contains those that it imports in its place")
    func styles() throws {
        let text = try bundle(
            "style.css",
            ["style.css": "@import \"./style/a.css\";\nb {}", "style/a.css": "a {\n    margin: 0;\n}\n"])
        #expect(text == "a {\nmargin: 0;\n}\nb {}\n")
    }

    @Test("the files of the page have the form that a bundle relies on")
    func form() throws {
        let folder = Programs.source("Sources/LockstepServe/Page/assets")
        let paths = try #require(FileManager.default.enumerator(atPath: folder)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".js") || $0.hasSuffix(".css") }
        #expect(paths.contains("main.js") && paths.contains("style.css"))
        for path in paths {
            let lines = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() {
                let place = "\(path):\(number + 1)"
                #expect(line.filter { $0 == "`" }.count.isMultiple(of: 2), "\(place): a text spans lines")
                let text = line.drop { $0 == " " || $0 == "\t" }
                let isIndented = text.startIndex != line.startIndex
                let isMoved = ["import {", "export ", "@import "].contains { text.hasPrefix($0) }
                #expect(!(isIndented && isMoved), "\(place): an import or export is indented")
            }
        }
    }

    @Test("a file that is missing is an error")
    func missing() {
        #expect(throws: Missing.self) { try bundle("main.js", ["main.js": "import { a } from \"./a.js\";"]) }
    }
}
