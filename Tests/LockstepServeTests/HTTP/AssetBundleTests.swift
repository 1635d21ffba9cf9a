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

    @Test("a file that is missing is an error")
    func missing() {
        #expect(throws: Missing.self) { try bundle("main.js", ["main.js": "import { a } from \"./a.js\";"]) }
    }
}
