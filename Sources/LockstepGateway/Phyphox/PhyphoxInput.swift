import LockstepModel

/// A sensor of an experiment, and the buffers with its values.
struct PhyphoxInput: Equatable {
    /// The conversion of a value to the unit and axes of a column.
    struct Column {
        /// The name of the output of the sensor.
        let output: String
        let column: String
        let factor: Double
        /// Whether a negative value means that it is unknown.
        var isUnknownBelowZero = false
    }

    /// A sensor whose values Lockstep has a stream for.
    struct Sensor {
        let stream: String
        let columns: [Column]
    }

    /// The standard gravity in m/s².
    private static let gravity = 9.80665

    /// The sensors by their names in phyphox. It has the axes of Android on both systems: a phone at rest, face up, has
    /// the acceleration (0, 0, 9.81) m/s².
    static let sensors: [String: Sensor] = [
        "accelerometer": vector("motion/accelerometer", factor: -1 / gravity),
        "gyroscope": vector("motion/gyroscope"),
        "magnetic_field": vector("motion/magnetometer"),
        "pressure": Sensor(
            stream: "pressure", columns: [Column(output: "x", column: "pressure", factor: 1)]),
        "location": Sensor(
            stream: "location",
            columns: [
                Column(output: "lat", column: "lat", factor: 1), Column(output: "lon", column: "lon", factor: 1),
                Column(output: "z", column: "alt", factor: 1),
                Column(output: "accuracy", column: "hacc", factor: 1, isUnknownBelowZero: true),
                Column(output: "zAccuracy", column: "vacc", factor: 1, isUnknownBelowZero: true),
                Column(output: "v", column: "speed", factor: 1, isUnknownBelowZero: true),
                Column(output: "dir", column: "course", factor: 1, isUnknownBelowZero: true),
            ]),
        "light": value("light"), "temperature": value("temperature"), "humidity": value("humidity"),
        "proximity": value("proximity"), "linear_acceleration": vector("x/phyphox/linear_acceleration"),
        "gravity": vector("x/phyphox/gravity"),
    ]

    private static func vector(_ stream: String, factor: Double = 1) -> Sensor {
        Sensor(stream: stream, columns: ["x", "y", "z"].map { Column(output: $0, column: $0, factor: factor) })
    }

    private static func value(_ name: String) -> Sensor {
        Sensor(stream: "x/phyphox/\(name)", columns: [Column(output: "x", column: "value", factor: 1)])
    }

    /// The name of the sensor.
    let source: String
    /// The buffer of the experiment times.
    let time: String
    /// The buffers by the names of the outputs.
    let buffers: [String: String]

    /// Parses an entry of `inputs` in the answer to `/config`.
    /// - Returns: nil for a sensor that is ignored, or without a buffer for its time.
    init?(_ content: JSONValue) {
        guard let source = content["source"]?.string, let sensor = Self.sensors[source] else { return nil }
        var buffers: [String: String] = [:]
        var time: String?
        for case .object(let outputs) in content["outputs"]?.array ?? [] {
            for (output, value) in outputs {
                guard let buffer = value.string, Self.isPlain(buffer) else { continue }
                if output == "t" { time = buffer }
                if sensor.columns.contains(where: { $0.output == output }) { buffers[output] = buffer }
            }
        }
        guard let time, !buffers.isEmpty else { return nil }
        self.source = source
        self.time = time
        self.buffers = buffers
    }

    /// Whether a name needs no escapes in a URL.
    private static func isPlain(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { $0.isASCIIAlphanumeric || "_-.".utf8.contains($0) }
    }

    /// The number of values by which the buffers of one answer can differ while the sensor records.
    private static let usualLag = 1000

    /// How far an input has been read.
    struct Progress: Equatable {
        /// The maximum number of samples that are remembered. More with one time come again and are stored once.
        private static let maxReadings = 100

        /// The last experiment time as the phone has written it.
        var time: Double
        /// The samples at this time. The phone rounds times, so that there may be others with the same time later.
        private(set) var readings: [Reading] = []

        init(_ time: Double) { self.time = time }

        mutating func add(_ reading: Reading) {
            if readings.count < Self.maxReadings { readings.append(reading) }
        }

        /// The time to ask for. The phone writes eight digits, and raises the time by one of the last digit.
        var threshold: Double {
            var digit = 1e-7
            while digit * 1e8 <= time { digit *= 10 }
            return time - 2 * digit
        }
    }

    /// Returns the parameters that ask for all values after a time.
    /// - Parameter threshold: the time, or nil for all values.
    func query(after threshold: Double?) -> [String] {
        // The threshold applies to the buffer of times, so that all buffers begin with the same sample.
        let all = [time] + buffers.sorted { $0.key < $1.key }.map(\.value)
        return all.map { buffer in
            guard let threshold else { return "\(buffer)=full" }
            return buffer == time ? "\(buffer)=\(threshold)" : "\(buffer)=\(threshold)%7C\(time)"
        }
    }

    /// Returns the samples of an answer.
    /// - Parameters:
    ///   - content: the object `buffer` of the answer to `/get`.
    ///   - last: samples before its time, and those that it contains, are left out.
    /// - Returns: the new samples, and the new progress.
    /// - Throws: ``Refusal`` if a buffer is missing.
    func read(
        _ content: JSONValue, times: PhyphoxTimes, after last: Progress?
    ) throws(Refusal) -> (readings: [Reading], last: Progress?, omission: String?) {
        guard let sensor = Self.sensors[source], let clock = content[time]?["buffer"]?.array else {
            throw Refusal(.malformed, "the answer has no buffer '\(time)'")
        }
        var columns: [(column: Column, values: [JSONValue])] = []
        for column in sensor.columns {
            guard let buffer = buffers[column.output] else { continue }
            guard let values = content[buffer]?["buffer"]?.array else {
                throw Refusal(.malformed, "the answer has no buffer '\(buffer)'")
            }
            columns.append((column, values))
        }
        let names = [time] + columns.compactMap { buffers[$0.column.output] }
        // A buffer of a fixed size that is full has dropped its oldest values, and others than the buffers that the phone
        // has read before it. Nothing tells which of its values belong together, so the next poll begins within it.
        if names.contains(where: { Self.isFull(content[$0]) }) {
            let start = clock[(clock.count / 4)...].lazy.compactMap(\.number).first { $0 > last?.time ?? -.infinity }
            return (
                [], start.map { Progress($0) } ?? last,
                "the buffers with '\(time)' are full: the oldest values are skipped"
            )
        }
        // The phone reads one buffer after the other while the sensor records. What all have belongs together; the rest
        // comes with the next poll.
        let lengths = [clock.count] + columns.map(\.values.count)
        let common = lengths.min() ?? 0
        var omission: String?
        if let longest = lengths.max(), longest - common > Self.usualLag, let index = lengths.firstIndex(of: common) {
            omission = "the buffer '\(names[index])' has \(longest - common) values less than the others of the sensor"
        }
        var readings: [Reading] = []
        var newest = last
        for (index, value) in clock.prefix(common).enumerated() {
            guard let experiment = value.number, experiment.isFinite else { continue }
            if let last, experiment < last.time { continue }
            if experiment > newest?.time ?? -.infinity { newest = Progress(experiment) }
            guard let time = times.time(at: experiment) else { continue }
            var reading = Reading(sensor.stream, at: time)
            for (column, values) in columns {
                guard let number = values[index].number, !(column.isUnknownBelowZero && number < 0) else { continue }
                reading.set(column.column, number * column.factor)
            }
            guard !reading.values.isEmpty else { continue }
            if experiment == last?.time, last?.readings.contains(reading) == true { continue }
            readings.append(reading)
            if experiment == newest?.time { newest?.add(reading) }
        }
        return (readings, newest, omission)
    }

    private static func isFull(_ buffer: JSONValue?) -> Bool {
        guard let size = buffer?["size"]?.integer, size > 0, let count = buffer?["buffer"]?.array?.count else {
            return false
        }
        return count >= size
    }
}
