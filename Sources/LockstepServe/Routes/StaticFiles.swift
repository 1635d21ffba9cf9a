import FoundationEssentials
import Glibc
import HTTPTypes
import Hummingbird
import HummingbirdCore
import LockstepHTTP
import LockstepModel
import NIOCore

/// The files of the page, and the libraries that it uses.
///
/// The page names its files by their version, `/assets/v-VERSION/…`: browsers keep them, and ask for them again after an
/// upgrade only. A script or style sheet of a version contains all that it imports.
struct StaticFiles: Sendable {
    /// The folder with `index.html` and `assets`, or nil if it was not found.
    let page: String?
    /// The folder of the map library, Debian's libjs-leaflet.
    let leaflet: String
    /// Returns documents that the page contains, by the ids of their elements, so that the first view needs one request.
    let documents: @Sendable (Rights) -> [(id: String, json: [UInt8])]

    /// The size in bytes from which on a document is asked for by the page, while it shows that it loads.
    private static let mostBytes = 1 << 20

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", "/", right: nil, showsRights: true)) { call in
            guard let page, let version = version, var text = Self.text(page + "/index.html") else {
                return try await file("index.html", in: page, call)
            }
            text = text.replacing("\"/assets/", with: "\"/assets/\(version)/")
            for (id, json) in documents(call.rights) where json.count < Self.mostBytes {
                // Within an element, no text of a document may look like its end.
                let safe = String(decoding: json, as: UTF8.self).escaping(["<": "\\u003c"])
                text = text.replacing("id=\"\(id)\">", with: "id=\"\(id)\">" + safe)
            }
            return Response(
                status: .ok, headers: [.contentType: StaticFile.type(of: "index.html"), .cacheControl: "no-store"],
                body: .init(byteBuffer: ByteBuffer(string: text)))
        }
        routes.add(Route("GET", "/openapi.json", right: nil)) { call in try await file("openapi.json", in: page, call) }
        routes.add(Route("GET", "/assets/{file…}", right: nil)) { call in
            let name = call.path["file"] ?? ""
            guard name.hasPrefix("v-"), let slash = name.firstIndex(of: "/") else {
                return try await file("assets/" + name, in: page, call)
            }
            return try await versioned(
                String(name[name.index(after: slash)...]), isCurrent: name[..<slash] == version ?? "", call)
        }
        routes.add(Route("GET", "/lib/leaflet/{file…}", right: nil)) { call in
            try await file(call.path["file"] ?? "", in: leaflet, call)
        }
    }

    private func file(_ name: String, in folder: String?, _ call: APICall) async throws -> Response {
        guard let folder else {
            throw Problem.notFound(
                "the files of the page were not found: name their folder with --page when you start the server")
        }
        return try await StaticFile.response(name, in: folder, to: call.request)
    }

    /// Returns a file by the address of a version. After an upgrade, windows of before get the present files once.
    private func versioned(_ name: String, isCurrent: Bool, _ call: APICall) async throws -> Response {
        var response = try await file("assets/" + name, in: page, call)
        if isCurrent { response.headers[.cacheControl] = "public, max-age=31536000, immutable" }
        guard let page, response.status == .ok, name.hasSuffix(".js") || name.hasSuffix(".css") else { return response }
        let bundle = try AssetBundle.make(name) { path in
            guard StaticFile.isSafe(path), let text = Self.text(page + "/assets/" + path) else {
                throw Problem.notFound("'\(name.prefix(200))' imports '\(path.prefix(200))', which does not exist")
            }
            return text
        }
        response.body = ResponseBody(byteBuffer: ByteBuffer(string: bundle))
        if let version { response.headers[.eTag] = "W/\"\(version)\"" }
        return response
    }

    private static func text(_ path: String) -> String? {
        (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The version of the page: it changes with the time or the size of any of its files.
    private var version: String? {
        guard let page, let files = try? FileManager.default.subpathsOfDirectory(atPath: page + "/assets") else {
            return nil
        }
        var hash = StableHash()
        for file in files.sorted() {
            var status = stat()
            guard stat(page + "/assets/" + file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            hash.combine("\(file) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(status.st_size)\n")
        }
        return "v-" + String(hash.value, radix: 36)
    }
}
