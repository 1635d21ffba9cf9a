import LockstepModel

/// A SenML pack, resolved: every record has its full name, unit and absolute time (RFC 8428, section 4.6).
struct SenMLPack {
    struct Record: Equatable {
        let name: String
        let unit: String?
        /// µs since 1970.
        let time: Int64
        /// Whether the time is relative to the arrival.
        let isRelative: Bool
        let value: Reading.Value
    }

    /// The records with a number, a word or a Boolean.
    private(set) var records: [Record] = []
    /// The reasons why records were left out.
    private(set) var omissions: [String] = []

    /// The highest version of the format; lower ones are those of drafts. Higher numbers add the features of which a pack
    /// makes use (RFC 9100).
    private static let version: Int64 = 10
    /// The feature of secondary units. They are read in packs of each version.
    private static let secondaryUnits: Int64 = 1 << 4
    /// Times below this number of seconds are relative to now.
    private static let relativeLimit: Int64 = 1 << 28

    /// A record that cannot be read is left out. But base fields are part of the records after them.
    /// - Throws: ``Refusal`` of kind `malformed`.
    init(_ content: JSONValue, at now: Timestamp) throws(Refusal) {
        guard let items = content.array, !items.isEmpty else {
            throw Refusal(.malformed, "the message is not a SenML pack, which is a list of records")
        }
        var base = Base()
        for item in items {
            guard case .object(let members) = item else { throw Refusal(.malformed, "a record is not an object") }
            try base.update(members)
            do { if let record = try base.record(members, at: now) { records.append(record) } } catch {
                // A series has one reason.
                if omissions.last != error.description { omissions.append(error.description) }
            }
        }
        guard !records.isEmpty else {
            throw Refusal(
                .malformed, omissions.first ?? "no record of the pack has a value that is read ('v', 'vb' or 'vs')")
        }
    }

    /// The base fields so far.
    private struct Base {
        var name = ""
        var unit: String?
        /// In µs.
        var time: Int64 = 0
        var value: Double?

        mutating func update(_ members: [String: JSONValue]) throws(Refusal) {
            if let unknown = members.keys.first(where: { $0.hasSuffix("_") }) {
                throw Refusal(
                    .malformed, "the pack needs the extension '\(unknown.prefix(40))', which is not supported")
            }
            if let version = members["bver"] {
                guard let number = version.integer,
                    (1...SenMLPack.version).contains(number)
                        || number == SenMLPack.version | SenMLPack.secondaryUnits
                else {
                    throw Refusal(
                        .malformed,
                        "the version ('bver') of the pack is not supported: 1 to 10 and 26, with secondary units, are")
                }
            }
            if let name = try SenMLPack.text("bn", members) { self.name = name }
            if let unit = try SenMLPack.text("bu", members) { self.unit = unit }
            if members["bt"] != nil { time = try SenMLPack.time("bt", members) }
            if let value = members["bv"] {
                guard let number = value.number else { throw Refusal(.malformed, "'bv' is not a number") }
                self.value = number
            }
        }

        func record(_ members: [String: JSONValue], at now: Timestamp) throws(Refusal) -> Record? {
            let value: Reading.Value
            if let number = members["v"] {
                guard let number = number.number else { throw unreadable(number, members, "'v'", "no number") }
                value = .number((self.value ?? 0) + number)
            } else if let flag = members["vb"] {
                guard let flag = flag.bool else { throw unreadable(flag, members, "'vb'", "no Boolean") }
                value = .number(flag ? 1 : 0)
            } else if let word = try SenMLPack.text("vs", members) {
                value = .word(word)
            } else {
                return nil
            }
            let name = self.name + (try SenMLPack.text("n", members) ?? "")
            guard SenMLPack.isValid(name) else {
                throw Refusal(.malformed, "the name '\(name.prefix(80))' is empty or has invalid characters")
            }
            let offset = members["t"] == nil ? 0 : try SenMLPack.time("t", members)
            let sum = time + offset
            let isRelative = sum < SenMLPack.relativeLimit * 1_000_000
            return Record(
                name: name, unit: try SenMLPack.text("u", members) ?? unit,
                time: isRelative ? now.microseconds + sum : sum, isRelative: isRelative, value: value)
        }

        private func unreadable(
            _ value: JSONValue, _ members: [String: JSONValue], _ field: String, _ problem: String
        ) -> Refusal {
            let name = name + (members["n"]?.string ?? "")
            return Refusal(.malformed, "\(field) of '\(name.prefix(80))' is \(value.excerpt), which is \(problem)")
        }
    }

    private static func text(_ name: String, _ members: [String: JSONValue]) throws(Refusal) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.string else { throw Refusal(.malformed, "'\(name)' is not a text") }
        return text
    }

    private static func time(_ name: String, _ members: [String: JSONValue]) throws(Refusal) -> Int64 {
        guard let time = TimeUnit.seconds.microseconds(ofNumber: members[name]) else {
            if let number = members[name]?.number, let unit = TimeUnit.plausible(number) {
                throw Refusal(
                    .malformed,
                    "'\(name)' is in seconds, but its value is a plausible time in \(unit.rawValue): divide it by "
                        + "\(unit == .milliseconds ? "1000" : unit == .microseconds ? "1000000" : "1000000000")")
            }
            throw Refusal(.malformed, "'\(name)' is not a number of seconds or is out of range")
        }
        return time
    }

    /// Returns whether a name begins with a letter or digit and has only characters that RFC 8428 allows.
    private static func isValid(_ name: String) -> Bool {
        guard name.utf8.first?.isASCIIAlphanumeric == true, name.utf8.count <= 256 else { return false }
        return name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-:./_".utf8.contains($0) }
    }
}
