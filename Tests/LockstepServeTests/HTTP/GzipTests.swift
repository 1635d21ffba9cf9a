import HTTPTypes
import LockstepHTTP
import LockstepTransfer
import Testing

@Suite("Compressed answers")
struct GzipTests {
    @Test(
        "gzip is used only for clients that accept it",
        arguments: [
            ("gzip", true), ("br, gzip;q=0.5", true), ("deflate, GZIP", true), ("", false), ("br", false),
            ("gzip;q=0", false), ("gzip; q=0.000", false), ("gzip;q=0.001", true),
        ])
    func accepted(field: String, isAccepted: Bool) {
        #expect(Gzip.isAccepted([.acceptEncoding: field]) == isAccepted)
    }

    @Test("text is compressed, and what is compressed already is not")
    func types() {
        for type in ["text/html; charset=utf-8", "application/json", "application/geo+json", "image/svg+xml"] {
            #expect(Gzip.isUseful(for: type))
        }
        for type in ["image/png", "font/woff2", "application/octet-stream"] { #expect(!Gzip.isUseful(for: type)) }
    }
}
