import LockstepModel

package struct RecordingRow: Sendable {
    /// The time in the file, in µs.
    package let time: Int64
    /// The column values for each part of the layout; nil if the row has no sample of the stream.
    package let values: [[Double]?]
    /// The values of the additional columns; NaN if the field is empty or the column is missing.
    package let extras: [Double]
    /// Why samples of the row were left out, one reason for each.
    package var invalid: [String] = []
    /// The device with its group, in an export of Lockstep.
    package var device: String?
}

extension RecordingLayout {
    /// - Parameter isStrict: Whether a value that is not finite, or missing, is an error. Otherwise the sample is left out.
    /// - Throws: The reason why it is malformed.
    package func row(_ line: ArraySlice<UInt8>, isStrict: Bool = false) throws(RowError) -> RecordingRow {
        try row(fields: line.split(separator: separator, omittingEmptySubsequences: false), isStrict: isStrict)
    }

    func row(fields: [ArraySlice<UInt8>], isStrict: Bool) throws(RowError) -> RecordingRow {
        guard fields.count == fieldCount else {
            throw RowError("the header has \(fieldCount) fields, this line has \(fields.count)")
        }
        if let streamField, let streamName, case let other = text(fields[streamField]), other != streamName {
            throw RowError("the file begins with samples of \(streamName), this one is of \(other)")
        }
        var values: [[Double]?] = []
        var invalid: [String] = []
        for part in parts {
            do throws(RowError) {
                var unknown: [String] = []
                let sample = try part.values(fields, hasDecimalComma: hasDecimalComma, unknown: &unknown)
                if isStrict, let reason = unknown.first { throw RowError(reason) }
                values.append(sample)
                invalid += unknown
            } catch {
                guard error.isUnknownValue, !isStrict else { throw error }
                invalid.append(error.reason)
                values.append(nil)
            }
        }
        var extras: [Double] = []
        for field in extraFields {
            if let field { try extras.append(number(fields[field])) } else { extras.append(.nan) }
        }
        return RecordingRow(
            time: try time(fields[timeField]), values: values, extras: extras, invalid: invalid,
            device: deviceFields.isEmpty ? nil : deviceFields.map { text(fields[$0]) }.joined(separator: "/"))
    }

    private func number(_ field: ArraySlice<UInt8>) throws(RowError) -> Double {
        let text = text(field)
        if text.isEmpty || isUnknown(text) { return .nan }
        guard let number = real(text, hasDecimalComma: hasDecimalComma) else {
            throw RowError("'\(text)' is not a number")
        }
        return number.isFinite ? number : .nan
    }

    private var hasDecimalComma: Bool { separator != UInt8(ascii: ",") }

    /// Parses the time of a row, in µs.
    /// - Throws: The reason why it is malformed.
    package func time(_ field: ArraySlice<UInt8>) throws(RowError) -> Int64 {
        let text = text(field)
        if let number = Int64(text) {
            let unit = try unit(of: Double(number), text)
            // Larger times are not exact as a Double, and differences could overflow.
            guard let time = unit.microseconds(number) else { throw RowError("the time '\(text)' is out of range") }
            return time
        }
        // Before the fraction of a number, because ISO 8601 may have a decimal comma as well.
        if let time = Timestamp(text) { return time.microseconds }
        guard let number = real(text, hasDecimalComma: hasDecimalComma), number.isFinite else {
            throw RowError("the time is '\(text)', neither a number nor a date")
        }
        let unit = try unit(of: number, text)
        guard unit != .microseconds, let time = unit.microseconds(number) else {
            throw RowError("the time is '\(text)', not a whole number of µs")
        }
        return time
    }

    private func unit(of number: Double, _ text: String) throws(RowError) -> TimeUnit {
        if let timeUnit { return timeUnit }
        guard let unit = TimeUnit.plausible(number) else {
            throw RowError(
                "the time '\(text)' is no date from 2000 to 2100 in any unit: name its unit with --time-unit s, ms, us or ns"
            )
        }
        return unit
    }
}

extension RecordingLayout.Part {
    /// Returns the values of one row; nil if all its fields are empty.
    /// - Parameter unknown: gets the reason for each value that is left out.
    fileprivate func values(
        _ row: [ArraySlice<UInt8>], hasDecimalComma: Bool, unknown: inout [String]
    ) throws(RowError) -> [Double]? {
        var values: [Double] = []
        var firstMissing: String?
        var isEmpty = true
        for (column, field) in zip(stream.columns, fields) {
            guard let field, case let text = text(row[field.index]), !text.isEmpty else {
                if field == nil, fillsWithZero {
                    values.append(0)
                    continue
                }
                if column.isRequired, firstMissing == nil { firstMissing = column.name }
                values.append(.nan)
                continue
            }
            let value = real(text, hasDecimalComma: hasDecimalComma)
            if isUnknown(text) || value?.isFinite == false {
                let reason = "'\(text)' is not a number (\(column.name) of \(stream))"
                if column.isRequired { throw RowError(reason, isUnknownValue: true) }
                unknown.append(reason)
                values.append(.nan)
                continue
            }
            if let words = column.kind.words {
                guard let index = words.firstIndex(of: text) else {
                    throw RowError(
                        "'\(text)' is not one of \(words.joined(separator: ", ")) (\(column.name) of \(stream))")
                }
                values.append(Double(index))
                isEmpty = false
                continue
            }
            guard let number = value else {
                throw RowError("'\(text)' is not a number (\(column.name) of \(stream))")
            }
            if column.kind == .integer, number.rounded() != number || abs(number) >= 0x1p53 {
                throw RowError("'\(text)' is not a whole number (\(column.name) of \(stream))")
            }
            values.append(number * field.scale)
            isEmpty = false
        }
        if isEmpty { return nil }
        if stream == .location { try checkPosition(&values) }
        if let firstMissing { throw RowError("\(firstMissing) of \(stream) is missing", isUnknownValue: true) }
        return values
    }
}

extension RecordingLayout.Part {
    /// Refuses an impossible position, and makes the course 360° 0°.
    private func checkPosition(_ values: inout [Double]) throws(RowError) {
        for (index, column) in stream.columns.enumerated() {
            if column.name == "course", values[index] == 360 { values[index] = 0 }
            let limit = column.name == "lat" ? 90.0 : column.name == "lon" ? 180 : .infinity
            guard abs(values[index]) > limit else { continue }
            throw RowError("\(values[index]) is not a \(column.name) of \(stream)", isUnknownValue: true)
        }
    }
}

/// The reason why a row is malformed. The reader adds file and line.
package struct RowError: Error {
    let reason: String
    /// Whether the recorder only did not know a value: it is NaN, infinite, empty, or a word such as `NA`.
    let isUnknownValue: Bool

    init(_ reason: String, isUnknownValue: Bool = false) {
        self.reason = reason
        self.isUnknownValue = isUnknownValue
    }
}

private func text(_ field: ArraySlice<UInt8>) -> String {
    let text = String(decoding: field, as: UTF8.self)
    let marks = [UInt8(ascii: " "), UInt8(ascii: "\"")]
    return field.first.map(marks.contains) == true || field.last.map(marks.contains) == true ? text.unquoted() : text
}

/// Returns whether a field says that its value is unknown, as statistics programs and databases write it.
private func isUnknown(_ text: String) -> Bool { ["na", "n/a", "null", "none", "-"].contains(text.lowercased()) }

private func real(_ text: String, hasDecimalComma: Bool) -> Double? {
    Double(text) ?? (hasDecimalComma ? Double(text.replacing(",", with: ".", maxReplacements: 1)) : nil)
}
