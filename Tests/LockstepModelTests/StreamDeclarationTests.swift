import LockstepModel
import Testing

@Suite("Declared stream")
struct StreamDeclarationTests {
    private typealias Column = SensorStream.Column

    private static func reason(_ body: () throws(StreamDeclarationError) -> Void) -> String? {
        do {
            try body()
            return nil
        } catch { return error.description }
    }

    @Test("the table name is the stream name with underscores for slashes")
    func tables() throws {
        let column = try Column(declaring: "value", kind: .real)
        #expect(try SensorStream(declaring: "x/co2", columns: [column]).table == "x_co2")
        #expect(try SensorStream(declaring: "x/soil/moisture", columns: [column]).table == "x_soil_moisture")
    }

    @Test("by default, a column is required and real numbers are averaged")
    func defaults() throws {
        let real = try Column(declaring: "ppm", kind: .real, unit: "ppm")
        #expect(real.isRequired && real.aggregate == .mean && real.unit == "ppm")
        #expect(try Column(declaring: "count", kind: .integer).aggregate == .none)
        let stream = try SensorStream(declaring: "x/co2", columns: [real])
        #expect(stream.isDeclared && !stream.pausesInBackground && !SensorStream.steps.isDeclared)
    }

    @Test(
        "an invalid stream name is refused",
        arguments: [
            "", "co2", "x", "x/", "X/co2", "x/CO2", "x//co2", "x/co2/", "x/a/b/c/d/e", "x/co-2", "x/co 2", "x/+", "x/#",
            "x/ä", "motion/x", "x/" + String(repeating: "a", count: 63),
        ])
    func names(_ name: String) throws {
        let column = try Column(declaring: "value", kind: .real)
        let reason = Self.reason { () throws(StreamDeclarationError) in
            _ = try SensorStream(declaring: name, columns: [column])
        }
        #expect(reason?.contains("is not a valid stream name: use x/ followed by") == true)
        #expect(SensorStream.undeclared(name) == nil)
    }

    @Test(
        "a column with an invalid or reserved name is refused",
        arguments: [
            ("", "is not a valid column name"), ("2nd", "is not a valid column name"),
            ("_a", "is not a valid column name"), ("Ppm", "is not a valid column name"),
            ("a b", "is not a valid column name"), (String(repeating: "a", count: 33), "is not a valid column name"),
            ("t", "is reserved by Lockstep"), ("device_id", "is reserved by Lockstep"),
            ("time", "is reserved by Lockstep"), ("seq", "is reserved by Lockstep"),
            ("samples", "is reserved by Lockstep"), ("stream", "is reserved by Lockstep"),
            ("order", "is a reserved word of SQL"),
            ("select", "is a reserved word of SQL"), ("true", "is a reserved word of SQL"),
            ("false", "is a reserved word of SQL"),
        ])
    func columnNames(_ name: String, _ expected: String) {
        let reason = Self.reason { () throws(StreamDeclarationError) in _ = try Column(declaring: name, kind: .real) }
        #expect(reason?.contains(expected) == true, "\(reason ?? "accepted")")
    }

    @Test("a stream without columns, with too many columns or with repeated columns is refused")
    func columnCount() throws {
        func reason(_ columns: [Column]) -> String? {
            Self.reason { () throws(StreamDeclarationError) in
                _ = try SensorStream(declaring: "x/a", columns: columns)
            }
        }
        let columns = try (1...33).map { try Column(declaring: "c\($0)", kind: .real) }
        #expect(reason([])?.hasPrefix("the stream has no columns") == true)
        #expect(reason(columns)?.hasPrefix("the stream has 33 columns: use at most 32") == true)
        #expect(reason(Array(columns.dropLast())) == nil)
        #expect(reason([columns[0], columns[1], columns[0]])?.hasPrefix("the column 'c1' is declared twice") == true)
    }

    @Test("texts that could end an SQL comment in the schema are refused")
    func texts() {
        for text in ["a\nb", "a\u{0}", "a */ b", "a\u{2028}b", String(repeating: "a", count: 300)] {
            let reasons = [
                Self.reason { () throws(StreamDeclarationError) in
                    _ = try Column(declaring: "a", kind: .real, unit: text)
                },
                Self.reason { () throws(StreamDeclarationError) in
                    _ = try Column(declaring: "a", kind: .real, summary: text)
                },
                Self.reason { () throws(StreamDeclarationError) in
                    _ = try Column(declaring: "a", kind: .choice(["b", text]))
                },
            ]
            #expect(reasons.allSatisfy { $0 != nil }, "\(text.debugDescription): \(reasons)")
        }
    }

    @Test("a choice with invalid words or an aggregate is refused")
    func choices() {
        func reason(_ words: [String], _ aggregate: SensorStream.Aggregate? = nil) -> String? {
            Self.reason { () throws(StreamDeclarationError) in
                _ = try Column(declaring: "a", kind: .choice(words), aggregate: aggregate)
            }
        }
        #expect(reason(["open", "closed"]) == nil)
        #expect(reason([])?.contains("needs 1 to 100 words") == true)
        #expect(reason(["open", "open"])?.contains("'open' occurs twice") == true)
        #expect(reason(["open", ""])?.contains("a word is empty") == true)
        #expect(reason(["open"], .mean)?.contains("no mean or sum") == true)
    }

    @Test("kinds and aggregates are created by name")
    func kinds() throws {
        #expect(try SensorStream.Kind(name: "number") == .real)
        #expect(try SensorStream.Kind(name: "integer") == .integer)
        #expect(try SensorStream.Kind(name: "choice", words: ["a"]) == .choice(["a"]))
        #expect(try SensorStream.Aggregate(name: "mean-longitude") == .meanLongitude)
        let text = Self.reason { () throws(StreamDeclarationError) in _ = try SensorStream.Kind(name: "text") }
        #expect(text?.contains("use choice with a list of words") == true)
        let words = Self.reason { () throws(StreamDeclarationError) in
            _ = try SensorStream.Kind(name: "real", words: ["a"])
        }
        #expect(words?.contains("only allowed for the kind choice") == true)
        let aggregate = Self.reason { () throws(StreamDeclarationError) in _ = try SensorStream.Aggregate(name: "max") }
        #expect(aggregate == "unknown aggregate 'max': use mean, mean-longitude, sum, none")
    }
}

@Suite("StreamCatalog")
struct StreamCatalogTests {
    private func stream(_ name: String) throws -> SensorStream {
        try SensorStream(declaring: name, columns: [try SensorStream.Column(declaring: "value", kind: .real)])
    }

    @Test("declared streams are found by name and table, and follow the built-in streams")
    func lookup() throws {
        let catalog = try StreamCatalog(declared: [stream("x/b"), stream("x/a/c")])
        #expect(catalog.streams.map(\.name) == SensorStream.builtIn.map(\.name) + ["x/b", "x/a/c"])
        #expect(catalog.stream(named: "x_a_c")?.name == "x/a/c")
        #expect(catalog.stream(ofChannel: "x_a_c") == nil)
        #expect(catalog.stream(ofChannel: "x/b")?.columns.count == 1)
        #expect(StreamCatalog.builtIn.stream(named: "x/b") == nil)
    }

    @Test("two streams with the same name or table are refused")
    func collisions() throws {
        let same = #expect(throws: StreamDeclarationError.self) {
            try StreamCatalog(declared: [stream("x/a"), stream("x/a")])
        }
        #expect(same?.description == "the stream 'x/a' is declared twice: remove one of the declarations")
        let table = #expect(throws: StreamDeclarationError.self) {
            try StreamCatalog(declared: [stream("x/a/b"), stream("x/a_b")])
        }
        #expect(table?.description == "the streams 'x/a/b' and 'x/a_b' have the same table x_a_b: rename one")
    }

    @Test("an undeclared stream gets a reference without columns and an error message that says how to declare it")
    func undeclared() {
        #expect(StreamCatalog.builtIn.reference(named: "x/a")?.columns.isEmpty == true)
        #expect(StreamCatalog.builtIn.reference(named: "nose") == nil)
        #expect(
            StreamCatalog.builtIn.unknownStreamMessage(for: "x/a").contains(
                "in the section 'streams' of the settings file"))
        #expect(
            StreamCatalog.builtIn.unknownStreamMessage(for: "nose").hasPrefix(
                "unknown stream 'nose'; known streams: motion/"))
    }
}
