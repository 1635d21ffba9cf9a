/// The rule for summer time at the end of a compiled time zone, such as `CET-1CEST,M3.5.0,M10.5.0/3`: the value of the
/// variable `TZ` (POSIX.1-2017, 8.3), with the hours from -167 to 167 of RFC 9636, 3.3.1.
struct PosixTimeZone: Sendable, Hashable {
    enum Day: Sendable, Hashable {
        /// A number from 1 to 365. February 29 has none.
        case withoutLeapDay(Int)
        /// A number from 0 to 365.
        case withLeapDay(Int)
        /// A day of the week, 0 for Sunday, in the first to fourth or the last (5) week of a month.
        case week(month: Int, week: Int, day: Int)
    }

    /// When the offset changes in each year.
    struct Change: Sendable, Hashable {
        var day: Day
        /// The local time before the change, in s after midnight.
        var time: Int64
    }

    struct Summer: Sendable, Hashable {
        /// The offset from UTC in s.
        var offset: Int64
        var start: Change
        var end: Change
    }

    /// The offset of standard time from UTC in s.
    let standard: Int64
    /// Summer time, or nil without.
    let summer: Summer?

    /// Parses a value of `TZ`; nil if it is not valid.
    init?(_ text: String) {
        var rest = Substring(text)
        guard Self.dropName(&rest), let west = Self.time(&rest, hours: 24) else { return nil }
        standard = -west
        guard !rest.isEmpty else {
            summer = nil
            return
        }
        guard Self.dropName(&rest) else { return nil }
        var offset = standard + 3600
        if rest.first != "," {
            guard let west = Self.time(&rest, hours: 24) else { return nil }
            offset = -west
        }
        guard let start = Self.change(&rest), let end = Self.change(&rest), rest.isEmpty else { return nil }
        summer = Summer(offset: offset, start: start, end: end)
    }

    /// Returns the offset from UTC in s at a time in s since 1970.
    func offset(at seconds: Int64) -> Int64 {
        guard let summer else { return standard }
        // The year may be wrong by one, and a change may be in the days beside its year.
        let year = 1970 + Int((Double(seconds) / 31_556_952).rounded(.down))
        var last: (time: Int64, isSummer: Bool)?
        for year in year - 2...year + 1 {
            let changes = [
                (Self.time(of: summer.start, in: year) - standard, true),
                (Self.time(of: summer.end, in: year) - summer.offset, false),
            ]
            for change in changes where change.0 <= seconds {
                // Summer time all year ends when it starts.
                if let known = last, (known.time, known.isSummer ? 1 : 0) >= (change.0, change.1 ? 1 : 0) { continue }
                last = change
            }
        }
        return last?.isSummer == true ? summer.offset : standard
    }

    /// Returns the local time of a change in s since 1970.
    private static func time(of change: Change, in year: Int) -> Int64 {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let before = year - 1
        let first = 365 * (year - 1970) + before / 4 - before / 100 + before / 400 - 477
        let day: Int
        switch change.day {
        case .withoutLeapDay(let number): day = first + number - 1 + (isLeap && number >= 60 ? 1 : 0)
        case .withLeapDay(let number): day = first + number
        case .week(let month, let week, let weekday):
            let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
            let start = first + lengths[..<(month - 1)].reduce(0, +)
            // 1970-01-01 was a Thursday.
            let offset = (weekday - start - 4) % 7
            let inMonth = (offset + 7) % 7 + 7 * (week - 1)
            day = start + (inMonth < lengths[month - 1] ? inMonth : inMonth - 7)
        }
        return Int64(day) * 86_400 + change.time
    }
}

extension PosixTimeZone {
    /// Removes a name: at least three letters, or anything between `<` and `>`.
    private static func dropName(_ rest: inout Substring) -> Bool {
        if rest.first == "<" {
            guard let end = rest.firstIndex(of: ">") else { return false }
            rest = rest[rest.index(after: end)...]
            return true
        }
        let name = rest.prefix { $0.isASCII && $0.isLetter }
        rest = rest[name.endIndex...]
        return name.count >= 3
    }

    /// Removes a number with at most three digits.
    private static func number(_ rest: inout Substring, in range: ClosedRange<Int>) -> Int? {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard digits.count <= 3, let number = Int(digits), range.contains(number) else { return nil }
        rest = rest[digits.endIndex...]
        return number
    }

    /// Removes a character if it is the next one.
    private static func skip(_ character: Character, _ rest: inout Substring) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }

    /// Removes `[+|-]hh[:mm[:ss]]` and returns it in s.
    private static func time(_ rest: inout Substring, hours: Int) -> Int64? {
        let isNegative = skip("-", &rest)
        if !isNegative { _ = skip("+", &rest) }
        guard let hour = number(&rest, in: 0...hours) else { return nil }
        var seconds = hour * 3600
        for unit in [60, 1] where skip(":", &rest) {
            guard let part = number(&rest, in: 0...59) else { return nil }
            seconds += part * unit
        }
        return Int64(isNegative ? -seconds : seconds)
    }

    /// Removes `,DAY[/TIME]`.
    private static func change(_ rest: inout Substring) -> Change? {
        guard skip(",", &rest) else { return nil }
        let day: Day
        if skip("J", &rest) {
            guard let number = number(&rest, in: 1...365) else { return nil }
            day = .withoutLeapDay(number)
        } else if skip("M", &rest) {
            guard let month = number(&rest, in: 1...12), skip(".", &rest), let week = number(&rest, in: 1...5),
                skip(".", &rest), let weekday = number(&rest, in: 0...6)
            else { return nil }
            day = .week(month: month, week: week, day: weekday)
        } else {
            guard let number = number(&rest, in: 0...365) else { return nil }
            day = .withLeapDay(number)
        }
        guard skip("/", &rest) else { return Change(day: day, time: 7200) }
        return time(&rest, hours: 167).map { Change(day: day, time: $0) }
    }
}
