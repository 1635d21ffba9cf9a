import LockstepModel

/// Finds the points of tracks in GPX 1.0 or 1.1, from pieces of the file that each end before a `>`.
///
/// This is no parser of XML: what is not a point of a track is skipped, and nothing is checked there.
struct GPXPoints {
    /// The names of the fields of a point: those of the stream `location`.
    static let names = ["time", "lat", "lon", "alt", "hacc", "vacc", "speed", "course", "fix"]

    /// The fields by the elements of GPX, without their prefixes.
    private static let elements = [
        "time": "time", "ele": "alt", "hacc": "hacc", "vacc": "vacc", "speed": "speed", "course": "course",
        "fix": "fix",
    ]
    /// The dimensions of each kind of fix.
    private static let fixes = ["none": "1", "2d": "2", "3d": "3", "dgps": "3", "pps": "3"]

    /// Whether there was a point.
    private(set) var hasTrack = false
    /// Whether there was a point with a time.
    private(set) var hasTime = false
    /// The number of points without a time so far.
    private(set) var untimed = 0
    /// The fields of the current point; nil outside of one.
    private var point: [String: ArraySlice<UInt8>]?
    private var isInComment = false

    /// Adds a piece of the file: text, and the tag behind it without its `>`.
    /// - Returns: the fields of a point that ends with this piece.
    mutating func add(_ piece: ArraySlice<UInt8>) throws(RowError) -> [ArraySlice<UInt8>]? {
        if isInComment {
            isInComment = !piece.ends("--")
            return nil
        }
        guard let open = piece.lastIndex(of: UInt8(ascii: "<")) else { return nil }
        if let comment = piece.indices.first(where: { piece[$0...].starts(with: "<!--".utf8) }) {
            isInComment = !(piece.count - (comment - piece.startIndex) >= 6 && piece.ends("--"))
            return nil
        }
        let text = piece[..<open].trimmed
        let tag = String(decoding: piece[(open + 1)...], as: UTF8.self)
        if tag.isTag("trkpt") {
            hasTrack = true
            guard let latitude = tag.attribute("lat"), let longitude = tag.attribute("lon") else {
                throw RowError("a point has no lat or lon")
            }
            point = ["lat": ArraySlice(latitude.utf8), "lon": ArraySlice(longitude.utf8)]
            return tag.hasSuffix("/") ? end() : nil
        }
        guard tag.hasPrefix("/"), point != nil else { return nil }
        let name = String(tag.dropFirst().split(separator: ":").last ?? "").filter { !$0.isWhitespace }
        if name == "trkpt" { return end() }
        guard let field = Self.elements[name] else { return nil }
        if field == "fix" {
            point?[field] = Self.fixes[String(decoding: text, as: UTF8.self)].map { ArraySlice($0.utf8) }
        } else {
            point?[field] = text
        }
        return nil
    }

    private mutating func end() -> [ArraySlice<UInt8>]? {
        defer { point = nil }
        guard let point else { return nil }
        guard point["time"] != nil else {
            untimed += 1
            return nil
        }
        hasTime = true
        return Self.names.map { point[$0] ?? [] }
    }
}

extension ArraySlice<UInt8> {
    fileprivate func ends(_ text: String) -> Bool { suffix(text.utf8.count).elementsEqual(text.utf8) }

    fileprivate var trimmed: ArraySlice<UInt8> {
        let start = firstIndex { !isBlank($0) } ?? endIndex
        let end = lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start
        return self[start..<Swift.max(start, end)]
    }
}

extension String {
    /// Returns whether a tag starts an element with a name, with or without a prefix.
    fileprivate func isTag(_ name: String) -> Bool {
        prefix { !$0.isWhitespace && $0 != "/" }.split(separator: ":").last.map { $0 == name } ?? false
    }

    /// Returns the value of an attribute in a tag.
    fileprivate func attribute(_ name: String) -> String? {
        var rest = self[...]
        while let equals = rest.firstIndex(of: "=") {
            let found = rest[..<equals].split(whereSeparator: \.isWhitespace).last.map(String.init)
            let value = rest[rest.index(after: equals)...].drop(while: \.isWhitespace)
            guard let quote = value.first, quote == "\"" || quote == "'",
                let end = value.dropFirst().firstIndex(of: quote)
            else { return nil }
            if found == name { return String(value[value.index(after: value.startIndex)..<end]) }
            rest = value[value.index(after: end)...]
        }
        return nil
    }
}
