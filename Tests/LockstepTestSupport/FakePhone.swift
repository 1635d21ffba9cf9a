import Foundation
import Synchronization

/// A phone with the app phyphox: its experiment, and its answers to requests.
public struct FakePhone: Sendable {
    private struct Event {
        var name: String
        var experiment: Double
        var system: Double
    }

    /// The entries of `inputs` in the answer to `/config`.
    public var inputs: String
    /// The values of all buffers.
    public var buffers: [String: [Double]] = [:]
    /// The size of all buffers; 0 for buffers that grow. A full one drops its oldest value for each new one.
    public var size = 0
    /// Whether the sensor records a sample between two buffers of an answer, as a real phone does.
    public var recordsWhileAnswering = false
    /// The id of the session, which is new after a start of the app.
    public var session = "abcdef"
    private var isMeasuring = false
    private var events: [Event] = []

    /// Creates a phone whose experiment has an accelerometer.
    public init() {
        inputs = #"{"source":"accelerometer","outputs":[{"x":"accX"},{"y":"accY"},{"z":"accZ"},{"t":"acc_time"}]}"#
        buffers = ["accX": [], "accY": [], "accZ": [], "acc_time": []]
    }

    /// Starts or pauses a measurement.
    public mutating func measure(_ isMeasuring: Bool, experiment: Double, system: Double) {
        self.isMeasuring = isMeasuring
        events.append(Event(name: isMeasuring ? "START" : "PAUSE", experiment: experiment, system: system))
    }

    /// Deletes all values.
    public mutating func clear() {
        for name in buffers.keys { buffers[name] = [] }
        events = []
        isMeasuring = false
    }

    /// Adds a sample of the accelerometer in m/s².
    public mutating func append(_ time: Double, _ x: Double, _ y: Double, _ z: Double) {
        for (name, value) in [("acc_time", time), ("accX", x), ("accY", y), ("accZ", z)] {
            buffers[name, default: []].append(value)
            if size > 0, buffers[name, default: []].count > size { buffers[name]?.removeFirst() }
        }
    }

    /// Records the next sample of the accelerometer: all values are its time.
    private mutating func record() {
        let time = (buffers["acc_time"]?.last ?? 0) + 0.0625
        append(time, time, time, time)
    }

    /// Returns the answer to a path with a query, and records while it is written.
    public mutating func answerWhileRecording(_ target: String) -> String? {
        guard recordsWhileAnswering, let query = target.split(separator: "?").dropFirst().first else {
            return answer(target)
        }
        var answers: [String] = []
        for parameter in query.split(separator: "&") {
            if let answer = answer(parameter: String(parameter)) { answers.append(answer) }
            record()
        }
        return object(answers)
    }

    private func object(_ answers: [String]) -> String {
        #"{"buffer":{\#(answers.joined(separator: ",\n"))},"status":{"session":"\#(session)","#
            + #""measuring":\#(isMeasuring),"timedRun":false,"countDown":0}}"#
    }

    /// Returns the answer to a path with a query, or nil if there is no such path.
    public func answer(_ target: String) -> String? {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        switch parts[0] {
        case "/config": return #"{"title":"Acceleration with g","inputs":[\#(inputs)],"buffers":[]}"#
        case "/time":
            let items = events.map {
                #"{"event":"\#($0.name)","experimentTime":\#($0.experiment),"systemTime":\#($0.system)}"#
            }
            return "[\(items.joined(separator: ","))]"
        case "/get":
            let query = parts.count > 1 ? parts[1].split(separator: "&").map(String.init) : []
            let answers = query.compactMap { answer(parameter: $0) }
            return object(answers)
        default: return nil
        }
    }

    private func answer(parameter: String) -> String? {
        let pair = parameter.split(separator: "=", maxSplits: 1).map(String.init)
        guard let values = buffers[pair[0]] else { return nil }
        var selected = values
        if pair.count == 1 {
            selected = Array(values.suffix(1))
        } else if pair[1] != "full" {
            let limit = pair[1].replacingOccurrences(of: "%7C", with: "|").split(separator: "|").map(String.init)
            guard let threshold = Double(limit[0]), let reference = buffers[limit.count > 1 ? limit[1] : pair[0]] else {
                return nil
            }
            // The app raises the threshold by the last of its eight digits.
            let raised = threshold + pow(10, floor(log10(abs(threshold) / 1e7)))
            selected = zip(values, reference).filter { $0.1 > raised }.map(\.0)
        }
        let texts = selected.map { $0.isFinite ? Self.format($0) : "null" }
        return #""\#(pair[0])":{"size":\#(size),"updateMode":"partial", "buffer":[\#(texts.joined(separator: ","))]}"#
    }

    /// Eight digits, as the app writes numbers: `1.2345678E2`.
    private static func format(_ value: Double) -> String { String(format: "%.7E", value) }
}

/// An HTTP server on loopback that answers as a phone.
public final class PhoneServer: Sendable {
    private struct State {
        var phone: FakePhone
        var requests: [String] = []
        var isStopped = false
    }

    private let state: Mutex<State>
    private let listener: LoopbackListener
    public var port: UInt16 { listener.port }

    /// - Parameter port: the port, or 0 for any.
    public init(_ phone: FakePhone, port: UInt16 = 0) throws {
        state = Mutex(State(phone: phone))
        listener = try LoopbackListener(port: port)
        Thread.detachNewThread { [self] in serve() }
    }

    /// The URL that the app shows.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The targets of all requests.
    public var requests: [String] { state.withLock { $0.requests } }

    /// Changes the phone.
    public func change(_ body: (inout FakePhone) -> Void) { state.withLock { body(&$0.phone) } }

    /// Closes the server.
    public func stop() {
        state.withLock { $0.isStopped = true }
        listener.close()
    }

    private func serve() {
        while !state.withLock({ $0.isStopped }), let connection = listener.accept() {
            defer { close(connection) }
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 65_536)
            while !bytes.ends(with: Array("\r\n\r\n".utf8)) {
                let count = read(connection, &piece, piece.count)
                guard count > 0 else { break }
                bytes += piece[..<count]
            }
            let line = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            guard line.count > 1 else { continue }
            let target = String(line[1])
            let body = state.withLock { state in
                state.requests.append(target)
                return state.phone.answer(target)
            }
            let head = "HTTP/1.1 \(body == nil ? 404 : 200) X\r\nContent-Length: \(body?.utf8.count ?? 0)\r\n\r\n"
            write(Array((head + (body ?? "")).utf8), to: connection)
        }
    }

    private func write(_ bytes: [UInt8], to connection: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }
}

extension Array where Element == UInt8 {
    fileprivate func ends(with end: [UInt8]) -> Bool { suffix(end.count).elementsEqual(end) }
}
