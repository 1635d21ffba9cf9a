import Foundation
import LockstepModel
import Testing

@testable import LockstepWire

/// The device of the examples of events.
private let exampleDevice = DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: "left"))

private let exampleSession = RecordingSession.Key(
    group: exampleDevice.group, id: SessionID(unchecked: "walk-3"))

private func recoded(_ verb: SessionRequest.Verb, _ payload: Data) throws -> [UInt8] {
    // Later than the starts of the examples.
    let now = Timestamp(microseconds: 1_800_000_000_000_000)
    return SessionJSON.encode(try SessionJSON.decode(verb, payload, of: exampleSession, at: now))
}

/// Checks docs/wire-format.md against the code: other implementers rely on every example and table in it.
@Suite("docs/wire-format.md")
struct WireFormatTests {
    private let page: Page

    init() throws { page = try Page("docs/wire-format.md") }

    @Test("every JSON and CBOR example says what it is")
    func kinds() {
        let known = [
            "batch", "rejected", "series", "presence", "state", "ack", "event", "acknowledge", "acknowledged",
            "request", "reply", "health", "ping", "pong", "forget", "forgotten", "delete", "session", "start", "mark",
            "edit", "split",
        ]
        for block in page.blocks where ["json", "hex"].contains(block.language) {
            #expect(known.contains(block.arguments.first ?? ""), "line \(block.line)")
        }
        for kind in known { #expect(page.blocks.contains { $0.arguments.first == kind }, "no example of '\(kind)'") }
    }

    @Test("a JSON batch is decoded, and encoded to the same values")
    func batches() throws {
        for block in examples("batch", in: "json") {
            let stream = try stream(of: block)
            for line in block.lines {
                let batch = try BatchJSON.decode(Data(line.utf8), stream: stream)
                let again = try BatchJSON.decode(Data(BatchJSON.encode(batch)), stream: stream)
                #expect(again == batch, "line \(block.line)")
                let cbor = BatchCBOR.encode(batch)
                #expect(try BatchCBOR.decode(Data(cbor), stream: stream) == batch, "line \(block.line)")
                #expect(batch.samples.isComplete, "line \(block.line)")
            }
        }
    }

    @Test("a CBOR batch is byte for byte the encoding of the first JSON batch")
    func cborBatch() throws {
        let block = try #require(examples("batch", in: "hex").first)
        let json = try #require(examples("batch", in: "json").first)
        let stream = try stream(of: block)
        let batch = try BatchJSON.decode(Data(json.text.utf8), stream: stream)
        #expect(hexadecimal(BatchCBOR.encode(batch)) == hexadecimal(bytes(block)))
        #expect(try BatchCBOR.decode(Data(bytes(block)), stream: stream) == batch)
    }

    @Test("a packed series holds the values of the list before it")
    func series() throws {
        let block = try #require(examples("series", in: "hex").first)
        let json = try #require(examples("series", in: "json").first)
        let values = try JSONDecoder().decode([Double].self, from: Data(json.text.utf8))
        let unpacked = try bytes(block).withUnsafeBytes { try PackedSeries($0).values() }
        #expect(unpacked == values)
    }

    @Test(
        "an example of any other message is decoded, and encoded to the same text")
    func otherPayloads() throws {
        let recode: [String: (Data) throws -> [UInt8]] = [
            "presence": { PresenceJSON.encode(try PresenceJSON.decode($0)) },
            "state": { StateJSON.encode(try StateJSON.decode($0)) },
            "event": { EventJSON.encode(try EventJSON.decode($0, of: exampleDevice)) },
            "acknowledge": {
                EventAcknowledgementJSON.encode(try EventAcknowledgementJSON.decodeRequest($0, of: exampleDevice))
            },
            "acknowledged": {
                EventAcknowledgementJSON.encode(try EventAcknowledgementJSON.decodeConfirmation($0, of: exampleDevice))
            },
            "forget": { ForgetJSON.encode(try ForgetJSON.decodeRequest($0)) },
            "delete": {
                DeletionJSON.encode(
                    try DeletionJSON.decode($0, of: exampleDevice, at: Timestamp(microseconds: 1_700_000_060_000_000)))
            },
            "forgotten": { ForgetJSON.encode(try ForgetJSON.decodeAnswer($0)) },
            "ping": { data in ClockJSON.encode(try data.withUnsafeBytes { try ClockJSON.decodePing($0) }) },
            "pong": { ClockJSON.encode(try ClockJSON.decodePong($0)) },
            "session": { SessionJSON.encode(try SessionJSON.decode($0, of: exampleSession)) },
            "start": { try recoded(.start, $0) }, "mark": { try recoded(.mark, $0) },
            "edit": { try recoded(.edit, $0) }, "split": { try recoded(.split, $0) },
            "request": { RequestJSON.encode(try RequestJSON.decode($0)) },
            "reply": { ReplyJSON.encode(try ReplyJSON.decode($0)) },
            "health": { try CollectorHealth.decode($0).encoded() },
        ]
        for (kind, recode) in recode {
            for block in examples(kind, in: "json") {
                for line in block.lines {
                    let encoded = try recode(Data(line.utf8))
                    let lost = try members(Data(line.utf8)).subtracting(try members(Data(encoded)))
                    #expect(lost.isEmpty, "\(line)")
                }
            }
        }
        for line in try #require(examples("ack", in: "json").first).lines {
            let ack = try AcknowledgementJSON.decode(Data(line.utf8))
            #expect(try AcknowledgementJSON.decode(Data(AcknowledgementJSON.encode(ack))) == ack)
        }
    }

    @Test("a payload in the list of rejected ones is rejected")
    func rejected() throws {
        for block in examples("rejected", in: "json") {
            let stream = try stream(of: block)
            for line in block.lines {
                #expect(throws: PayloadError.self, "\(line)") {
                    try BatchJSON.decode(Data(line.utf8), stream: stream)
                }
            }
        }
    }

    @Test("the columns of every stream are listed with kind, unit and whether they are required")
    func columns() throws {
        let tables = page.tables.filter { $0.header.first == "Column" }
        for stream in SensorStream.builtIn {
            let table = try #require(tables.first { $0.heading == stream.name }, "\(stream) is not documented")
            let rows = table.rows.map { Array($0.prefix(4)) }
            let expected = stream.columns.map { column in
                let kind =
                    switch column.kind {
                    case .real: "real"
                    case .integer: "integer"
                    case .choice: "choice"
                    }
                return [
                    "`\(column.name)`", kind, column.unit.isEmpty ? "–" : column.unit,
                    column.isRequired ? "yes" : "no",
                ]
            }
            #expect(rows == expected, "\(stream)")
            for (column, row) in zip(stream.columns, table.rows) {
                guard case .choice(let words) = column.kind else { continue }
                for word in words { #expect(row.last?.contains("`\(word)`") == true, "\(stream) \(column.name)") }
            }
        }
        for table in tables where StreamCatalog.builtIn.stream(named: table.heading) == nil {
            Issue.record("'\(table.heading)' is documented, but is not a stream")
        }
    }

    @Test("every range of a column is listed")
    func ranges() throws {
        let table = try #require(page.tables.first { $0.header == ["Stream", "Columns", "Values"] })
        let listed = table.rows.flatMap { row in
            row[1].split(separator: ",").map { "\(row[0]) \($0.trimmingCharacters(in: .whitespaces)) \(row[2])" }
        }
        let expected = SensorStream.builtIn.flatMap { stream in
            stream.columns.filter { $0.range != nil }.map { "`\(stream)` `\($0.name)` \($0.rangeText)" }
        }
        #expect(listed.sorted() == expected.sorted())
    }

    @Test("every channel is listed with its topic")
    func channels() throws {
        let table = try #require(page.tables.first { $0.header.first == "Channel" })
        let listed = table.rows.flatMap { $0[0].split(separator: "`").map(String.init) }
        let channels: [Channel] = [
            .presence, .state, .ack, .command, .commandReply, .event, .eventAcknowledge, .eventAcknowledged,
            .forget, .forgotten, .delete, .clockPing, .clockPong,
        ]
        for channel in channels { #expect(listed.contains(channel.name), "\(channel.name)") }
        let names = listed.filter { Channel(name: $0) != nil }
        #expect(names.count == channels.count + 1, "one stream stands for all: \(names)")
    }

    @Test("the limits are those of the code")
    func limits() throws {
        let table = try #require(page.tables.first { $0.heading == "Limits" })
        let documented = Dictionary(uniqueKeysWithValues: table.rows.map { ($0[0], $0[1]) })
        let format = { (number: Int) in
            String(
                String(number).reversed().enumerated().flatMap { $0 > 0 && $0 % 3 == 0 ? [",", $1] : [$1] }.reversed())
        }
        #expect(documented["bytes of a payload"] == format(PayloadLimits().bytes))
        #expect(documented["samples of a batch"] == format(PayloadLimits().samples))
        #expect(documented["bytes of a request"] == format(RequestJSON.maxBytes))
        #expect(documented["ranges in `dropped` of a presence"] == format(PresenceJSON.maxRanges))
    }

    private func examples(_ kind: String, in language: String) -> [Page.Block] {
        page.blocks.filter { $0.language == language && $0.arguments.first == kind }
    }

    private func stream(of block: Page.Block) throws -> SensorStream {
        try #require(StreamCatalog.builtIn.stream(named: block.arguments.last ?? ""), "line \(block.line)")
    }

    private func bytes(_ block: Page.Block) -> [UInt8] {
        let digits = Array(block.text.filter(\.isHexDigit))
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
    }

    /// The members of a JSON object, as `path=value`. An encoder may add members that have defaults.
    private func members(_ payload: Data) throws -> Set<String> {
        var members: Set<String> = []
        func add(_ value: Any, at path: String) {
            switch value {
            case let object as [String: Any]: for (key, value) in object { add(value, at: "\(path)/\(key)") }
            case let list as [Any]: for (index, value) in list.enumerated() { add(value, at: "\(path)/\(index)") }
            default: members.insert("\(path)=\(value)")
            }
        }
        add(try JSONSerialization.jsonObject(with: payload), at: "")
        return members
    }
}
