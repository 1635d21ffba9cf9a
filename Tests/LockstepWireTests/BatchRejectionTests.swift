import FoundationEssentials
import LockstepModel
import LockstepWire
import Testing

@Suite("Rejection of a batch")
struct BatchRejectionTests {
    private func isNotJSON(_ error: PayloadError?) -> Bool { error?.description.hasPrefix("not valid JSON: ") ?? false }

    @Test(
        "invalid JSON is rejected",
        arguments: [
            "", " ", "x", "{", #"{"t":1"#, #"{"t":1,"x":[1],"y":[1],"z":[1]"#, #"{"t":1,"x":[1],"y":[1],"z":[1]}}"#,
            #"{"t":1,"x":[NaN],"y":[1],"z":[1]}"#, #"{"t":1,"x":[Infinity],"y":[1],"z":[1]}"#,
            #"{"t":1,"x":[-inf],"y":[1],"z":[1]}"#, #"{"t":1,"x":[1 2],"y":[1],"z":[1]}"#, #"{'t':1}"#,
            #"{"t":01,"x":[1],"y":[1],"z":[1]}"#, #"{"t":1,"x":[1],"y":[1],"z":[1]} {}"#,
        ])
    func notJSON(_ payload: String) {
        #expect(isNotJSON(rejection(data(payload))))
    }

    @Test("invalid UTF-8 is rejected")
    func notUTF8() {
        let inEpoch = Data(#"{"seq":1,"epoch":""#.utf8 + [0xff, 0xc0] + #"","t":1,"x":[1],"y":[1],"z":[1]}"#.utf8)
        #expect(isNotJSON(rejection(inEpoch)))
        #expect(isNotJSON(rejection(Data([0xff, 0xfe, 0x00]))))
        let inUnknown = rejection(Data(#"{"note":""#.utf8 + [0xff, 0xc0] + #"","t":1,"x":[1],"y":[1],"z":[1]}"#.utf8))
        #expect(isNotJSON(inUnknown))
    }

    @Test("a payload truncated at any length is rejected")
    func truncated() {
        let whole = BatchJSON.encode(batch(times: [1, 2, 4], x: [1.5, 2, 3]))
        for count in 0..<whole.count {
            #expect(rejection(Data(whole.prefix(count))) != nil, "\(count) bytes")
        }
    }

    @Test("extremely deep nesting is rejected", arguments: [1000, 200_000])
    func nested(_ depth: Int) {
        let brackets = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        #expect(rejection(data(#"{"t":1,"x":[1],"y":[1],"z":[1],"more":"# + brackets + "}")) != nil)
        #expect(rejection(data(String(repeating: "{\"a\":", count: depth))) != nil)
    }

    @Test("a payload that is not an object is rejected", arguments: ["[]", "[1,2]", "42", "\"text\"", "null", "true"])
    func notAnObject(_ payload: String) {
        #expect(rejection(data(payload))?.description == "the payload is not an object")
    }

    @Test(
        "a value of the wrong type is rejected",
        arguments: [
            (#"{"t":"1","x":[1],"y":[1],"z":[1]}"#, "'t' is not a whole number"),
            (#"{"t":[1],"x":[1],"y":[1],"z":[1]}"#, "'t' is not a whole number"),
            (#"{"t":1,"x":1,"y":[1],"z":[1]}"#, "'x' is not an array"),
            (#"{"t":1,"x":[1],"y":{"a":1},"z":[1]}"#, "'y' is not an array"),
            (#"{"t":1,"x":[1],"y":[1],"z":["1"]}"#, "'z[0]' is not a number"),
            (#"{"t":1,"x":[1],"y":[1],"z":[true]}"#, "'z[0]' is not a number"),
            (#"{"t":1,"live":"no","x":[1],"y":[1],"z":[1]}"#, "'live' is not true or false"),
            (#"{"t":1,"live":0,"x":[1],"y":[1],"z":[1]}"#, "'live' is not true or false"),
            (#"{"t":1,"epoch":7,"seq":1,"x":[1],"y":[1],"z":[1]}"#, "'epoch' is not a string"),
            (#"{"t":1,"epoch":"e","seq":"1","x":[1],"y":[1],"z":[1]}"#, "'seq' is not a whole number"),
            (#"{"v":"1","t":1,"x":[1],"y":[1],"z":[1]}"#, "'v' is not a whole number"),
            (#"{"t":1,"dt":"1","x":[1,2],"y":[1,2],"z":[1,2]}"#, "'dt' is not an array"),
            (#"{"t":1,"dt":["1"],"x":[1,2],"y":[1,2],"z":[1,2]}"#, "'dt[0]' is not a whole number"),
        ])
    func wrongTypes(_ payload: String, _ reason: String) {
        #expect(rejection(data(payload))?.description == reason)
    }

    @Test(
        "an incomplete batch is rejected",
        arguments: [
            (#"{"x":[1],"y":[1],"z":[1]}"#, "'t' is missing"),
            (#"{"t":1,"x":[1],"y":[1]}"#, "'z' is missing"),
            (#"{"t":1,"x":null,"y":[1],"z":[1]}"#, "'x' is not an array"),
            (#"{"t":1,"x":[],"y":[],"z":[]}"#, "the batch has no samples"),
            (#"{"t":1,"dt":1,"x":[1,2],"y":[1],"z":[1,2]}"#, "'y' has 1 value, but another column has 2"),
            (#"{"t":1,"dt":1,"x":[1,null],"y":[1,2],"z":[1,2]}"#, "'x' contains null"),
        ])
    func incomplete(_ payload: String, _ reason: String) {
        #expect(rejection(data(payload))?.description == reason)
    }

    @Test(
        "a value that is impossible is rejected in each encoding, with stream, column, value and range",
        arguments: [
            (SensorStream.location, "lat", -90, 525, "'lat' of location contains 525: it must be from -90 to 90"),
            (.location, "lon", 180, -180.5, "'lon' of location contains -180.5: it must be from -180 to 180"),
            (.location, "hacc", 0, -1, "'hacc' of location contains -1: it must be at least 0"),
            (.pressure, "pressure", 1013, -50, "'pressure' of pressure contains -50: it must be at least 0"),
            (.heading, "magnetic", 360, 400, "'magnetic' of heading contains 400: it must be from 0 to 360"),
            (.battery, "level", 1, 80, "'level' of battery contains 80: it must be from 0 to 1"),
            (.steps, "steps", 0, -2, "'steps' of steps contains -2: it must be at least 0"),
        ] as [(SensorStream, String, Double, Double, String)])
    func impossible(_ stream: SensorStream, _ name: String, _ valid: Double, _ value: Double, _ reason: String) throws {
        func batch(_ values: [Double]) -> Batch {
            let columns = stream.columns.map { column in
                column.name == name ? values : values.map { _ in column.isRequired ? 0 : .nan }
            }
            let times = values.indices.map { Int64($0) + 1 }
            return Batch(position: nil, samples: SampleBlock(stream: stream, times: times, columns: columns))
        }
        for encoding in BatchEncoding.allCases {
            #expect(try BatchEncoding.decode(Data(encoding.encode(batch([valid]))), stream: stream) == batch([valid]))
            for values in [[value], [valid, valid, value]] {
                let error = #expect(throws: PayloadError.self) {
                    try BatchEncoding.decode(Data(encoding.encode(batch(values))), stream: stream)
                }
                #expect(error?.description == reason)
            }
        }
    }

    @Test("a location without columns is rejected")
    func emptyLocation() {
        #expect(rejection(data(#"{"t":1}"#), stream: .location)?.description == "the batch has no samples")
    }

    @Test(
        "a value out of range is rejected",
        arguments: [
            (#"{"t":1,"start":[1],"steps":[1.5]}"#, "'steps' contains 1.5, which is not a whole number"),
            (
                #"{"t":1,"start":[1],"steps":[9007199254740992]}"#,
                "'steps' contains 9007199254740992.0: its magnitude must be below 2^53"
            ),
            (#"{"t":1,"start":[-1e300],"steps":[1]}"#, "'start' contains -1e+300: its magnitude must be below 2^53"),
        ])
    func outOfRange(_ payload: String, _ reason: String) {
        #expect(rejection(data(payload), stream: .steps)?.description == reason)
    }

    @Test("a number too large for a double is rejected")
    func tooLargeForDouble() {
        #expect(rejection(data(#"{"t":1,"x":[1e999],"y":[1],"z":[1]}"#)) != nil)
    }
}

@Suite("Rejection of a batch because of its times")
struct BatchTimeRejectionTests {
    @Test(
        "invalid times are rejected",
        arguments: [
            (#""t":-1,"dt":1"#, "'t' is -1: it must be a time in µs since 1970"),
            (#""t":9007199254740990,"dt":1"#, "'dt' gives a time beyond the largest valid time"),
            (#""t":9007199254740992,"dt":1"#, "'t' is 9007199254740992: it must be a time in µs since 1970"),
            (#""t":1"#, "'dt' is missing"),
            (#""t":1,"dt":null"#, "'dt' is not an array"),
            (#""t":1,"dt":[1]"#, "'dt' has 1 interval for 3 samples: expected 2"),
            (#""t":1,"dt":[]"#, "'dt' has 0 intervals for 3 samples: expected 2"),
            (#""t":1,"dt":[1,2,3]"#, "'dt' has 3 intervals for 3 samples: expected 2"),
            (#""t":1,"dt":0"#, "'dt' contains 0: times must strictly increase"),
            (#""t":1,"dt":-5"#, "'dt' contains -5: times must strictly increase"),
            (#""t":1,"dt":[5,0]"#, "'dt' contains 0: times must strictly increase"),
            (#""t":1,"dt":9223372036854775807"#, "'dt' gives a time beyond the largest valid time"),
            (#""t":1,"dt":[9223372036854775806,1]"#, "'dt' gives a time beyond the largest valid time"),
        ])
    func times(_ times: String, _ reason: String) {
        let payload = #"{"epoch":"e1","seq":5,"# + times + #","x":[1,2,3],"y":[1,2,3],"z":[1,2,3]}"#
        let error = rejection(data(payload))
        #expect(error?.description == reason)
        #expect(error?.position == BatchPosition(epoch: epoch, seq: 5))
    }

    @Test(
        "a first time that is not a 64-bit integer is rejected",
        arguments: ["1e30", "1.5", "9223372036854775808", "-1e19"])
    func notAWholeNumber(_ time: String) {
        let reason = rejection(data(#"{"t":\#(time),"x":[1],"y":[1],"z":[1]}"#))?.description
        #expect(reason != nil)
        #expect(reason == "'t' is not a whole number")
    }
}

@Suite("Rejection of a batch because of its position")
struct BatchPositionRejectionTests {
    @Test(
        "an invalid version, epoch or number is rejected",
        arguments: [
            (#""v":2"#, "payload version 2 is newer than this program supports (1): upgrade this program"),
            (#""v":0"#, "'v' is 0: versions start at 1"),
            (#""v":-1"#, "'v' is -1: versions start at 1"),
            (#""epoch":"e1","seq":0"#, "'seq' is 0: batches are numbered from 1"),
            (#""epoch":"e1","seq":-7"#, "'seq' is -7: batches are numbered from 1"),
            (#""epoch":"e1","seq":9007199254740992"#, "'seq' is 9007199254740992: it must be below 2^53"),
            (#""epoch":"e1""#, "only one of 'epoch' and 'seq' is present: send both or neither"),
            (#""seq":1"#, "only one of 'epoch' and 'seq' is present: send both or neither"),
            (#""epoch":"e1","seq":null"#, "only one of 'epoch' and 'seq' is present: send both or neither"),
            (
                #""epoch":"two words","seq":1"#,
                "'two words' is not an epoch: use 1 to 64 characters of A-Z a-z 0-9 _ . -"
            ),
        ])
    func positions(_ members: String, _ reason: String) {
        let error = rejection(data("{\(members)" + #","t":1,"x":[1],"y":[1],"z":[1]}"#))
        #expect(error?.description == reason)
        #expect(error?.position == nil)
    }

    @Test("the error has the batch's position if it could be read")
    func position() {
        #expect(
            rejection(data(#"{"epoch":"e1","seq":9,"t":1,"x":[null],"y":[1],"z":[1]}"#))?.position
                == BatchPosition(epoch: epoch, seq: 9))
        #expect(rejection(data(#"{"t":1,"x":[null],"y":[1],"z":[1]}"#))?.position == nil)
        #expect(rejection(data(#"{"v":2,"epoch":"e1","seq":9}"#))?.position == nil)
    }

    @Test("too many samples or bytes are rejected")
    func limits() {
        let whole = BatchJSON.encode(batch(times: [1, 2, 4], x: [1, 2, 3]))
        let tight = PayloadLimits(bytes: whole.count, samples: 3)
        #expect(rejection(Data(whole), limits: tight) == nil)
        #expect(
            rejection(Data(whole), limits: PayloadLimits(bytes: whole.count - 1, samples: 3))?.description
                == "the payload has \(whole.count) bytes: the limit is \(whole.count - 1)")
        let many = rejection(Data(whole), limits: PayloadLimits(bytes: whole.count, samples: 2))
        #expect(many?.description == "the batch has 3 samples: the limit is 2")
        #expect(many?.position == BatchPosition(epoch: epoch, seq: 42))
    }
}

@Suite("Acceptance of a batch")
struct BatchAcceptanceTests {
    @Test(
        "unknown keys are ignored, and any order and white space is accepted",
        arguments: [
            #"{"z":[3],"y":[2],"x":[1],"t":7}"#,
            #" { "t" : 7 , "x":[1.0],"y":[2e0],"z":[0.3E+1], "note":{"a":[1,{"b":null}]}, "w":[1,2,3] } "#,
            #"{"v":1,"t":7,"live":true,"x":[1],"y":[2],"z":[3],"epoch":null,"seq":null}"#,
            #"{"v":null,"\u0074":7,"x":[1],"y":[2],"z":[3],"dt":null}"#,
        ])
    func unknownKeys(_ payload: String) throws {
        let batch = try BatchJSON.decode(data(payload), stream: .accelerometer)
        #expect(batch.position == nil && batch.isLive)
        #expect(batch.samples == SampleBlock(stream: .accelerometer, times: [7], columns: [[1], [2], [3]]))
    }

    @Test("optional columns may be absent")
    func absentColumns() throws {
        let batch = try BatchJSON.decode(data(#"{"t":7,"lat":[1],"fix":[null]}"#), stream: .location)
        #expect(batch.samples.columns[0] == [1])
        #expect(batch.samples.columns.dropFirst().allSatisfy { $0.count == 1 && $0[0].isNaN })
    }
}
