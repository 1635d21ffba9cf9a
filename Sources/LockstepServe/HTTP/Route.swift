/// A resource of the API: a method and a path, the right that it needs, and its query parameters.
struct Route: Hashable, Sendable {
    /// The method, such as `GET`. A `GET` route also answers `HEAD`.
    let method: String
    /// The path, such as `/api/v1/devices/{group}/{device}`. A name that ends in `…` matches the rest of the path.
    let template: String
    /// The right that the client needs, or nil for none.
    let right: Right?
    /// The query parameters.
    var parameters: [String] = []
    /// The query parameters that may occur more than once.
    var repeatable: Set<String> = []
    /// Whether the answer shows if a login is valid, although it needs none.
    var showsRights = false

    private let parts: [Part]

    private enum Part: Hashable {
        case literal(String)
        case name(String)
        case rest(String)
    }

    init(
        _ method: String, _ template: String, right: Right?, parameters: [String] = [], repeatable: Set<String> = [],
        showsRights: Bool = false
    ) {
        self.method = method
        self.template = template
        self.right = right
        self.parameters = parameters
        self.repeatable = repeatable
        self.showsRights = showsRights
        parts = template.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map { part in
            guard part.hasPrefix("{"), part.hasSuffix("}") else { return .literal(String(part)) }
            let name = part.dropFirst().dropLast()
            return name.hasSuffix("…") ? .rest(String(name.dropLast())) : .name(String(name))
        }
    }

    /// Returns the values of the names in the path, or nil if the path does not match.
    func match(_ segments: [String]) -> [String: String]? {
        var values: [String: String] = [:]
        for (index, part) in parts.enumerated() {
            guard index < segments.count else { return nil }
            switch part {
            case .literal(let text): if segments[index] != text { return nil }
            case .name(let name): values[name] = segments[index]
            case .rest(let name):
                let rest = segments[index...].joined(separator: "/")
                values[name] = rest
                return rest.isEmpty ? nil : values
            }
        }
        return segments.count == parts.count ? values : nil
    }
}

/// The route of a request.
enum RouteMatch<Handler> {
    /// The route, its handler, and the values of the names in its path.
    case found(Route, Handler, [String: String])
    /// The path exists, but only with these methods.
    case otherMethods([String])
    /// The path does not exist.
    case none
}

/// The routes of the server.
struct RouteTable<Handler: Sendable>: Sendable {
    private(set) var entries: [(route: Route, handler: Handler)] = []

    /// Adds a route. Of several routes that match a path, the first one is used.
    mutating func add(_ route: Route, _ handler: Handler) { entries.append((route, handler)) }

    /// Finds the route of a request. A request with `HEAD` uses the route of `GET`.
    func match(_ method: String, _ segments: [String]) -> RouteMatch<Handler> {
        let wanted = method == "HEAD" ? "GET" : method
        var methods: [String] = []
        for entry in entries {
            guard let values = entry.route.match(segments) else { continue }
            if entry.route.method == wanted { return .found(entry.route, entry.handler, values) }
            methods += entry.route.method == "GET" ? ["GET", "HEAD"] : [entry.route.method]
        }
        return methods.isEmpty ? .none : .otherMethods(methods)
    }
}
