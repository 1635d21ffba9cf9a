import Dispatch
import FoundationEssentials
import Glibc
import HTTPTypes
package import HummingbirdCore
import NIOCore

/// A file of a page.
package enum StaticFile {
    private static let queue = DispatchQueue(label: "lockstep.http.files")
    private static let maxSize = 16 << 20

    /// Returns the answer with the content of a file.
    /// - Throws: ``Problem`` if there is no such file.
    package static func response(_ name: String, in folder: String, to request: Request) async throws -> Response {
        guard Self.isSafe(name) else { throw Problem.notFound("there is no file '\(name.prefix(200))'") }
        let loaded = await withCheckedContinuation { done in
            Self.queue.async { done.resume(returning: LoadedFile(folder + "/" + name, maxSize: Self.maxSize)) }
        }
        guard let loaded else { throw Problem.notFound("there is no file '\(name.prefix(200))'") }
        var response: Response
        if request.headers[.ifNoneMatch] == loaded.tag {
            response = Response(status: .notModified)
        } else {
            response = Response(
                status: .ok, headers: [.contentType: Self.type(of: name)],
                body: .init(byteBuffer: ByteBuffer(bytes: loaded.bytes)))
        }
        response.headers[.eTag] = loaded.tag
        // Ask again each time: after an upgrade, old and new files must not be mixed.
        response.headers[.cacheControl] = "no-cache"
        return response
    }

    /// Whether a path stays within its folder and names no hidden file.
    package static func isSafe(_ path: String) -> Bool {
        // By bytes, as the system sees it: with some characters before or after it, a '/' is not a character of its own.
        !path.utf8.contains(0) && !path.utf8.contains(UInt8(ascii: "\\"))
            && path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
                !$0.isEmpty && $0.first != UInt8(ascii: ".")
            }
    }

    /// Returns the media type of a file.
    package static func type(of name: String) -> String {
        switch name.split(separator: ".").last.map(String.init) {
        case "html": "text/html; charset=utf-8"
        case "js", "mjs": "text/javascript; charset=utf-8"
        case "css": "text/css; charset=utf-8"
        case "json", "map": "application/json"
        case "webmanifest": "application/manifest+json"
        case "svg": "image/svg+xml"
        case "png": "image/png"
        case "ico": "image/x-icon"
        case "woff2": "font/woff2"
        case "txt": "text/plain; charset=utf-8"
        default: "application/octet-stream"
        }
    }
}

/// The content of a file and its entity tag.
private struct LoadedFile: Sendable {
    let bytes: [UInt8]
    let tag: String

    init?(_ path: String, maxSize: Int) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maxSize,
            let data = try? Data(contentsOf: URL(filePath: path))
        else { return nil }
        bytes = Array(data)
        tag = "W/\"\(status.st_mtim.tv_sec)-\(status.st_mtim.tv_nsec)-\(status.st_size)\""
    }
}
