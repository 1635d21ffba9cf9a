import LockstepExport
import LockstepModel
import LockstepStore
import Testing

@Suite("CSV, NDJSON and JSON rows")
struct RowWriterTests {
    static let columns = [
        ExportColumn(name: "x", kind: .real), ExportColumn(name: "n", kind: .integer),
        ExportColumn(name: "word", kind: .choice(["plain", #"a "b", c\"#])),
    ]
    static let rows = [
        row("left", 1_700_000_000_000_000, [0.5, 3, 0]), row("left", 1_700_000_000_010_000, [.nan, .nan, .nan]),
        row("right", -1, [-1e-7, 2.5, 1]),
    ]

    @Test("CSV has a header, empty unknown values and quoted fields")
    func csv() {
        #expect(
            written(CSVWriter(columns: Self.columns), Self.rows) == """
                group,device,t,time,x,n,word
                lab,left,1700000000000000,2023-11-14T22:13:20.000000Z,0.5,3,plain
                lab,left,1700000000010000,2023-11-14T22:13:20.010000Z,,,
                lab,right,-1,1969-12-31T23:59:59.999999Z,-1e-07,2.5,"a ""b"", c\\"

                """)
    }

    @Test("NDJSON has an object per line and null for unknown values")
    func ndjson() {
        #expect(
            written(NDJSONWriter(columns: Self.columns), Self.rows) == #"""
                {"group":"lab","device":"left","t":1700000000000000,"time":"2023-11-14T22:13:20.000000Z","x":0.5,"n":3,"word":"plain"}
                {"group":"lab","device":"left","t":1700000000010000,"time":"2023-11-14T22:13:20.010000Z","x":null,"n":null,"word":null}
                {"group":"lab","device":"right","t":-1,"time":"1969-12-31T23:59:59.999999Z","x":-1e-07,"n":2.5,"word":"a \"b\", c\\"}

                """#)
    }

    @Test("NDJSON names the stream if asked to")
    func stream() {
        let text = written(NDJSONWriter(columns: [], stream: "motion/gyroscope"), [Self.rows[2]])
        #expect(
            text == """
                {"group":"lab","device":"right","stream":"motion/gyroscope","t":-1,"time":"1969-12-31T23:59:59.999999Z"}

                """)
    }

    @Test("JSON rows follow the members, also if there are none")
    func jsonRows() {
        let writer = JSONRowsWriter(
            members: [
                ("device", JSONRowsWriter.string("a\n\"b\"")), ("columns", JSONRowsWriter.strings(["x", "n"])),
                ("step", "null"),
            ], columns: Self.columns)
        let members = #"{"device":"a\u000a\"b\"","columns":["x","n"],"step":null,"rows":["#
        #expect(written(writer, []) == members + "]}\n")
        #expect(
            written(writer, Self.rows)
                == members + #"[1700000000000000,0.5,3,"plain"],[1700000000010000,null,null,null],"#
                + #"[-1,-1e-07,2.5,"a \"b\", c\\"]]}"# + "\n")
    }
}

/// Returns a row of a device in the group `lab`.
func row(_ device: String, _ time: Int64, _ values: [Double]) -> SampleRow {
    SampleRow(
        device: DeviceAddress(group: GroupID(unchecked: "lab"), device: DeviceID(unchecked: device)),
        time: Timestamp(microseconds: time), values: values)
}

/// Returns everything that a writer writes for these rows.
func written(_ writer: some RowWriter, _ rows: [SampleRow]) -> String {
    var writer = writer
    var output = OutputBuffer()
    writer.begin(into: &output)
    for row in rows { writer.write(row, into: &output) }
    writer.end(into: &output)
    return String(decoding: output.bytes, as: UTF8.self)
}
