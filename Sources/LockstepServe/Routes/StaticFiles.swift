import Hummingbird
import LockstepHTTP

/// The files of the page, and the libraries that it uses.
struct StaticFiles: Sendable {
    /// The folder with `index.html` and `assets`, or nil if it was not found.
    let page: String?
    /// The folder of the map library, Debian's libjs-leaflet.
    let leaflet: String

    func add(to routes: inout RouteTable<APIHandler>) {
        routes.add(Route("GET", "/", right: nil)) { call in try await file("index.html", in: page, call) }
        routes.add(Route("GET", "/openapi.json", right: nil)) { call in try await file("openapi.json", in: page, call) }
        routes.add(Route("GET", "/assets/{file…}", right: nil)) { call in
            try await file("assets/" + (call.path["file"] ?? ""), in: page, call)
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
}
