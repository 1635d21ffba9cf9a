public import FoundationEssentials
public import LockstepModel

extension BatchCBOR {
    /// Decodes a batch of `stream`. Unknown keys are ignored.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ payload: Data, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try payload.withUnsafeBytes { bytes in
            Result { () throws(PayloadError) in try decode(bytes, stream: stream, limits: limits) }
        }.get()
    }

    /// Decodes a batch of `stream`. Unknown keys are ignored. `bytes` only has to be valid during the call.
    /// - Throws: ``PayloadError`` with the reason and, if it could be read, the batch's position.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, stream: SensorStream, limits: PayloadLimits = PayloadLimits()
    ) throws(PayloadError) -> Batch {
        try BatchRules.checkSize(bytes.count, limits: limits)
        let members = try BatchMembers(bytes, limits: limits)
        try BatchRules.checkVersion(try members.wholeNumber("v") ?? BatchRules.version)
        let position = try BatchRules.position(epoch: try members.string("epoch"), seq: try members.wholeNumber("seq"))
        do throws(PayloadError) {
            return Batch(
                position: position, isLive: try members.bool("live") ?? true, samples: try members.samples(of: stream))
        } catch {
            var reason = error
            reason.position = position
            throw reason
        }
    }
}

/// The members of a batch's map, indexed by key.
private struct BatchMembers {
    private let buffer: UnsafeRawBufferPointer
    private let limits: PayloadLimits
    /// The offset of each member's value in the buffer.
    private var offsets: [String: Int] = [:]

    init(_ buffer: UnsafeRawBufferPointer, limits: PayloadLimits) throws(PayloadError) {
        self.buffer = buffer
        self.limits = limits
        var reader = CBORReader(buffer)
        guard case .map(let count) = try reader.next() else { throw PayloadError("the payload is not a map") }
        for _ in 0..<count {
            guard case .text(let range) = try reader.next() else { throw PayloadError("a key is not a string") }
            let name = reader.text(range)
            guard offsets.updateValue(reader.offset, forKey: name) == nil else {
                throw PayloadError("the key '\(name.prefix(40))' occurs twice")
            }
            try reader.skip()
        }
        guard reader.isAtEnd else { throw PayloadError("unexpected data after the map, at byte \(reader.offset)") }
    }

    func wholeNumber(_ name: String) throws(PayloadError) -> Int64? {
        guard let item = try item(name), item != .null else { return nil }
        guard case .integer(let value) = item else { throw PayloadError("'\(name)' is not a whole number") }
        return value
    }

    func string(_ name: String) throws(PayloadError) -> String? {
        guard var reader = reader(at: name) else { return nil }
        let item = try reader.next()
        if item == .null { return nil }
        guard case .text(let range) = item else { throw PayloadError("'\(name)' is not a string") }
        return reader.text(range)
    }

    func bool(_ name: String) throws(PayloadError) -> Bool? {
        guard let item = try item(name), item != .null else { return nil }
        guard case .bool(let value) = item else { throw PayloadError("'\(name)' is not true or false") }
        return value
    }

    func samples(of stream: SensorStream) throws(PayloadError) -> SampleBlock {
        var columns: [Column?] = []
        for column in stream.columns { columns.append(try self.column(column)) }
        let count = columns.lazy.compactMap { $0?.count }.first ?? 0
        return try BatchRules.samples(
            of: stream, first: try wholeNumber("t"),
            intervals: { count throws(PayloadError) in try intervals(count: count) },
            columns: columns.map { $0?.values(count: count) })
    }

    /// Returns the intervals between `count` samples (`dt`), in µs.
    private func intervals(count: Int) throws(PayloadError) -> [Int64] {
        guard var reader = reader(at: "dt") else { throw PayloadError("'dt' is missing") }
        switch try reader.next() {
        case .integer(let interval): return Array(repeating: interval, count: count - 1)
        case .bytes(let range):
            let series = try series(reader.bytes(range))
            guard series.decimals == 0 else {
                throw PayloadError("'dt' contains decimal fractions: use whole numbers of µs")
            }
            return try series.numbers()
        case .array(let count):
            try BatchRules.checkSampleCount(count, limits: limits)
            var intervals: [Int64] = []
            intervals.reserveCapacity(count)
            for _ in 0..<count {
                guard case .integer(let interval) = try reader.next() else {
                    throw PayloadError("'dt' contains an element that is not a whole number")
                }
                intervals.append(interval)
            }
            return intervals
        default: throw PayloadError("'dt' is neither a whole number nor an array or series of whole numbers")
        }
    }

    /// The decoded values of a column: one per sample, or a single value for all samples.
    private enum Column {
        case each([Double])
        case all(Double)

        /// The number of values, or nil if a single value applies to all samples.
        var count: Int? { if case .each(let values) = self { values.count } else { nil } }

        func values(count: Int) -> [Double] {
            switch self {
            case .each(let values): values
            case .all(let value): Array(repeating: value, count: count)
            }
        }
    }

    private func column(_ column: SensorStream.Column) throws(PayloadError) -> Column? {
        guard var reader = reader(at: column.name) else {
            guard !column.isRequired else { throw PayloadError("'\(column.name)' is missing") }
            return nil
        }
        let item = try reader.next()
        switch item {
        case .array(let count):
            try BatchRules.checkSampleCount(count, limits: limits)
            var values: [Double] = []
            values.reserveCapacity(count)
            for _ in 0..<count { values.append(try value(try reader.next(), of: column, in: reader)) }
            return .each(values)
        case .bytes(let range):
            let values = try series(reader.bytes(range)).values()
            // Numbers of a packed series are always finite, so real columns need no further check.
            return .each(column.kind == .real ? values : try checked(values, of: column))
        case .tag(let tag):
            guard let type = TypedArray(rawValue: tag), case .bytes(let range) = try reader.next() else {
                throw PayloadError("'\(column.name)' has an unsupported tag")
            }
            return .each(try checked(try floats(reader.bytes(range), type, of: column), of: column))
        default: return .all(try value(item, of: column, in: reader))
        }
    }

    private func value(
        _ item: CBORItem, of column: SensorStream.Column, in reader: CBORReader
    ) throws(PayloadError) -> Double {
        switch (column.kind, item) {
        case (_, .null): return try BatchRules.value(nil, of: column)
        case (.choice(let words), .text(let range)):
            return try BatchRules.value(reader.text(range), of: column, words: words)
        case (.integer, .integer(let value)), (.real, .integer(let value)):
            return try BatchRules.value(Double(value), of: column)
        case (.integer, .float(let value)), (.real, .float(let value)):
            return try BatchRules.value(value, of: column)
        case (.choice, _): throw PayloadError("'\(column.name)' contains a value that is not a string")
        default: throw PayloadError("'\(column.name)' contains a value that is not a number")
        }
    }

    private func series(_ bytes: UnsafeRawBufferPointer) throws(PayloadError) -> PackedSeries {
        let series = try PackedSeries(bytes)
        try BatchRules.checkSampleCount(series.count, limits: limits)
        return series
    }

    private func floats(
        _ bytes: UnsafeRawBufferPointer, _ type: TypedArray, of column: SensorStream.Column
    ) throws(PayloadError) -> [Double] {
        let size = type == .float32 ? 4 : 8
        guard bytes.count.isMultiple(of: size) else {
            throw PayloadError(
                "'\(column.name)' has \(counted(bytes.count, "byte")), which is not a multiple of \(size)")
        }
        try BatchRules.checkSampleCount(bytes.count / size, limits: limits)
        return stride(from: 0, to: bytes.count, by: size).map { offset in
            switch type {
            case .float32:
                Double(
                    Float(
                        bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))))
            case .float64:
                Double(bitPattern: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            }
        }
    }

    /// Returns `values` if all of them are valid for `column`, or throws.
    private func checked(_ values: [Double], of column: SensorStream.Column) throws(PayloadError) -> [Double] {
        if case .choice = column.kind { throw PayloadError("'\(column.name)' contains a value that is not a string") }
        for value in values { _ = try BatchRules.value(value, of: column) }
        return values
    }

    private func reader(at name: String) -> CBORReader? { offsets[name].map { CBORReader(buffer, at: $0) } }

    private func item(_ name: String) throws(PayloadError) -> CBORItem? {
        guard var reader = reader(at: name) else { return nil }
        return try reader.next()
    }
}
