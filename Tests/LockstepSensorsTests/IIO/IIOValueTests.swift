import LockstepModel
import LockstepSensors
import Testing

@Suite("IIO scan layout")
struct ScanTests {
    @Test(
        "byte order, sign, bits, repetition and shift of a type are parsed",
        arguments: [
            ("le:s16/16>>0", false, true, 16, 16, 1, 0), ("be:u12/16>>4", true, false, 12, 16, 1, 4),
            ("le:s64/64>>0", false, true, 64, 64, 1, 0), ("be:s20/32X3>>12", true, true, 20, 32, 3, 12),
            ("le:u8/8>>0", false, false, 8, 8, 1, 0),
        ])
    func types(
        text: String, isBigEndian: Bool, isSigned: Bool, bits: Int, storage: Int, repeats: Int, shift: Int
    ) throws {
        let type = try #require(ScanType(text))
        #expect(type.isBigEndian == isBigEndian && type.isSigned == isSigned)
        #expect(type.bits == bits && type.storageBits == storage)
        #expect(type.repeats == repeats && type.shift == shift)
        #expect(type.byteCount == storage / 8 * repeats)
    }

    @Test(
        "an invalid type is rejected",
        arguments: [
            "", "s16/16>>0", "le:16/16>>0", "le:s16>>0", "le:s16/16", "le:s17/16>>0", "le:s12/16>>5", "le:s0/16>>0",
            "le:s16/24>>0", "le:s16/16X0>>0", "le:s16/16>>0 ", "me:s16/16>>0", "le:s16/16>>-1",
        ])
    func wrongTypes(text: String) {
        #expect(ScanType(text) == nil)
    }

    @Test(
        "a value is shifted, reduced to its bits and sign-extended",
        arguments: [
            ("le:s16/16>>0", [0x01, 0x80], -32767), ("be:s16/16>>0", [0x80, 0x01], -32767),
            ("le:u16/16>>0", [0x01, 0x80], 32769), ("le:s12/16>>4", [0xFF, 0x7F], 2047),
            ("le:s12/16>>4", [0x0F, 0x80], -2048), ("be:u12/16>>4", [0xFF, 0xF7], 4095),
            ("be:s12/16>>0", [0xF8, 0x00], -2048), ("be:s12/16>>0", [0xF7, 0xFF], 2047),
            ("le:s8/8>>0", [0xFF], -1), ("le:s24/32>>8", [0xEE, 0xFF, 0xFF, 0x7F], 8_388_607),
            ("be:u32/32>>0", [0xFF, 0xFF, 0xFF, 0xFE], 4_294_967_294),
            ("be:s16/16X2>>0", [0x00, 0x07, 0x00, 0x09], 7),
        ] as [(String, [UInt8], Double)])
    func values(text: String, bytes: [UInt8], value: Double) throws {
        let type = try #require(ScanType(text))
        #expect(type.value(in: ([0xAA] + bytes + [0xCC]).dropFirst()) == value)
    }

    @Test("64-bit values are exact, signed and unsigned")
    func wide() throws {
        let signed = try #require(ScanType("le:s64/64>>0"))
        #expect(signed.integer(in: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]) == .max)
        #expect(signed.integer(in: [0, 0, 0, 0, 0, 0, 0, 0x80]) == .min)
        let unsigned = try #require(ScanType("le:u64/64>>0"))
        #expect(unsigned.value(in: [0, 0, 0, 0, 0, 0, 0, 0x80]) == 0x1p63)
        #expect(unsigned.range == 0...0x1p64)
        #expect(signed.range.lowerBound == -0x1p63)
    }

    @Test("the range follows from the significant bits")
    func ranges() {
        #expect(ScanType("le:s12/16>>4")?.range == -2048...2047)
        #expect(ScanType("le:u12/16>>4")?.range == 0...4095)
    }

    private func element(_ name: String, _ index: Int, _ text: String) throws -> ScanLayout.Element {
        ScanLayout.Element(name: name, index: index, type: try #require(ScanType(text)))
    }

    @Test("each element is aligned to its size, in the order of the index")
    func alignment() throws {
        let layout = ScanLayout([
            try element("timestamp", 3, "le:s64/64>>0"), try element("accel_z", 2, "le:s16/16>>0"),
            try element("accel_x", 0, "le:s16/16>>0"), try element("accel_y", 1, "le:s16/16>>0"),
        ])
        #expect(layout["accel_x"]?.offset == 0 && layout["accel_y"]?.offset == 2 && layout["accel_z"]?.offset == 4)
        #expect(layout["timestamp"]?.offset == 8)
        #expect(layout.byteCount == 16)
    }

    @Test("a scan is aligned to its largest element")
    func padding() throws {
        let wide = ScanLayout([try element("a", 0, "le:s32/32>>0"), try element("b", 1, "le:s8/8>>0")])
        #expect(wide["b"]?.offset == 4 && wide.byteCount == 8)
        let narrow = ScanLayout([try element("a", 0, "le:s16/16>>0"), try element("b", 7, "le:s16/16>>0")])
        #expect(narrow.byteCount == 4)
        let repeated = ScanLayout([try element("a", 0, "le:s16/16>>0"), try element("q", 1, "le:s16/16X4>>0")])
        #expect(repeated["q"]?.offset == 8 && repeated.byteCount == 16)
        #expect(ScanLayout([]).byteCount == 0)
    }
}

@Suite("Mount matrices")
struct MountMatrixTests {
    @Test("a rotation converts sensor axes to device axes")
    func rotation() throws {
        let matrix = try MountMatrix("0, 1, 0; -1, 0, 0; 0, 0, 1")
        #expect(matrix.apply(SIMD3(1, 2, 3)) == SIMD3(2, -1, 3))
        #expect(matrix.numbers == [[0, 1, 0], [-1, 0, 0], [0, 0, 1]])
        #expect(try MountMatrix("0.984807753, -0.173648, 0;0.173648,0.984807753,0 ; 0,0,1").rows[0].x == 0.984807753)
    }

    @Test("a determinant of -1 is accepted")
    func reflection() throws {
        #expect(try MountMatrix("1, 0, 0; 0, 1, 0; 0, 0, -1").apply(SIMD3(1, 2, 3)) == SIMD3(1, 2, -3))
    }

    @Test(
        "a matrix that is not a rotation is rejected with advice",
        arguments: [
            ("1, 0, 0; 0, 2, 0; 0, 0, 1", "is not a rotation"), ("0, 0, 0; 0, 0, 0; 0, 0, 0", "is not a rotation"),
            ("1, 0, 0; 1, 0, 0; 0, 0, 1", "is not a rotation"), ("1, 0; 0, 1", "is not a 3 by 3 matrix"),
            ("", "is not a 3 by 3 matrix"), ("1, 0, 0; 0, x, 0; 0, 0, 1", "is not a 3 by 3 matrix"),
            ("1, 0, 0; 0, nan, 0; 0, 0, 1", "is not a 3 by 3 matrix"),
            ("1, 0, 0; 0, 1, 0; 0, 0, 1; 0, 0, 0", "is not a 3 by 3 matrix"),
        ])
    func refused(text: String, reason: String) throws {
        let error = try #require(throws: IIOError.self) { _ = try MountMatrix(text) }
        #expect(error.description.hasPrefix("'\(text)' \(reason)"))
        #expect(
            error.description.hasSuffix(
                "correct the sensor's mount-matrix in the device tree or the firmware tables, or set another one"))
    }
}

@Suite("Supported IIO rates")
struct SamplingRateTests {
    @Test("a list yields the lowest rate at or above the requested one, otherwise the fastest, with the kernel's text")
    func list() throws {
        let rates = try #require(SamplingRates("100.000000 12.500000 50 25"))
        #expect(rates.bounds == 12.5...100)
        #expect(rates.choose(1)?.text == "12.500000")
        #expect(rates.choose(12.5)?.rate == 12.5)
        #expect(rates.choose(26)?.text == "50")
        #expect(rates.choose(1000)?.text == "100.000000")
    }

    @Test("a range yields the next step at or above the requested rate")
    func range() throws {
        let rates = try #require(SamplingRates("[0.5 0.5 100]"))
        #expect(rates.bounds == 0.5...100)
        #expect(rates.choose(0.1)?.text == "0.5")
        #expect(rates.choose(10.2)?.text == "10.5")
        #expect(rates.choose(10.5)?.text == "10.5")
        #expect(rates.choose(101)?.text == "100")
        #expect(SamplingRates("[1 0 400]")?.choose(33.3)?.text == "33.3")
        #expect(SamplingRates("[0 1 400]")?.bounds == 1...400)
        #expect(SamplingRates("0 100")?.bounds == 100...100)
    }

    @Test("a text without rate is rejected", arguments: ["", "0", "x", "[1 2]", "[3 1 2]", "[]", "-1 5", "inf"])
    func none(text: String) {
        #expect(SamplingRates(text) == nil)
    }

    @Test("a rate is formatted without exponent")
    func texts() {
        #expect(SamplingRates.text(of: 0.00001) == "0.00001")
        #expect(SamplingRates.text(of: 6667) == "6667")
        #expect(SamplingRates.text(of: 12.5) == "12.5")
    }
}

@Suite("Unit conversion of IIO sensors")
struct AxisConversionTests {
    @Test("9.8 m/s² upward at rest become -1 g")
    func acceleration() {
        let conversion = UnitConversion(
            scale: SIMD3(repeating: 0.000598205), offset: .zero, mount: nil,
            factor: IIOQuantity.acceleration.factor)
        let values = conversion.values(of: SIMD3(0, 0, 16393.46))
        #expect(values[0] == 0 && values[0].sign == .plus && abs(values[2] + 1) < 1e-4)
    }

    @Test("gauss become µT, rad/s are unchanged")
    func others() {
        let field = UnitConversion(
            scale: SIMD3(repeating: 0.0015), offset: .zero, mount: nil, factor: IIOQuantity.field.factor)
        #expect(field.values(of: SIMD3(100, -200, 0)) == [15, -30, 0])
        let rotation = UnitConversion(
            scale: SIMD3(0.001, 0.002, 0.003), offset: SIMD3(0, 10, 0), mount: nil,
            factor: IIOQuantity.rotation.factor)
        #expect(rotation.values(of: SIMD3(1000, 990, -1000)) == [1, 2, -3])
    }

    @Test("the mount matrix rotates scaled values")
    func mount() throws {
        let conversion = UnitConversion(
            scale: SIMD3(0.001, 0.002, 0.003), offset: .zero, mount: try MountMatrix("0, 1, 0; -1, 0, 0; 0, 0, 1"),
            factor: 1)
        #expect(conversion.values(of: SIMD3(1000, 1000, 1000)) == [2, -1, 3])
    }

    @Test("rounding preserves every 16-bit count")
    func resolution() {
        let scale = 9.80665 / 16384
        let conversion = UnitConversion(
            scale: SIMD3(repeating: scale), offset: .zero, mount: nil, factor: IIOQuantity.acceleration.factor)
        var wrong = 0
        for count in -32768...32767 {
            let value = conversion.values(of: SIMD3(Double(count), 0, 0))[0]
            if Int((-value * 16384).rounded()) != count { wrong += 1 }
        }
        #expect(wrong == 0)
    }
}

@Suite("Step deltas")
struct StepDeltaTests {
    @Test("the first reading is the baseline, later ones yield the difference")
    func deltas() throws {
        var deltas = StepDeltas()
        let baseline = deltas.update(count: 1000, at: 10)
        #expect(baseline == nil)
        let added = deltas.update(count: 1004, at: 1_000_010)
        let row = try #require(added)
        #expect(row.times == [1_000_010] && row.columns[0] == [10] && row.columns[1] == [4])
        #expect(row.columns.dropFirst(2).allSatisfy { $0[0].isNaN })
        let pause = deltas.update(count: 1004, at: 2_000_010)
        #expect(pause == nil)
        let next = deltas.update(count: 1005, at: 3_000_010)
        #expect(next?.columns[0] == [2_000_010])
    }

    @Test("a second reading with the same time is ignored")
    func ties() {
        var deltas = StepDeltas()
        _ = deltas.update(count: 1, at: 10)
        let tie = deltas.update(count: 2, at: 10)
        #expect(tie == nil)
        let row = deltas.update(count: 3, at: 1_000_010)
        #expect(row?.columns[1] == [2])
    }

    @Test("only a whole number from 0 is a count")
    func counts() {
        #expect([0, 7, 4e9].map(StepDeltas.count) == [0, 7, 4_000_000_000])
        #expect([-1, 0.5, 1e300, .nan, .infinity].map(StepDeltas.count) == [nil, nil, nil, nil, nil])
    }
}
