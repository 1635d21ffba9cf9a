import Foundation
import LockstepMQTT
import LockstepTestSupport
import Testing

/// Messages of one sample each, which a broker can queue for a collector.
struct SampleMessages {
    let collector: String
    let port: UInt16
    var version = MQTTVersion.five

    private var protocolArguments: [String] {
        ["-p", "\(port)", "-V", version == .five ? "mqttv5" : "mqttv311"]
    }

    /// Creates the collector's session, so that the broker queues messages from now on.
    func begin() async throws {
        let arguments =
            protocolArguments + (version == .five ? ["-x", "3600"] : []) + [
                "-i", "lockstep-collector-\(collector)", "-c", "-q", "1", "-t", "lockstep/#", "-E",
            ]
        let run = try await RunningProgram.run(
            Programs.installed("mosquitto_sub") ?? "mosquitto_sub", arguments)
        #expect(run.status == 0, "\(run.text)")
    }

    /// Publishes batches of one sample with these batch numbers.
    func publish(_ numbers: ClosedRange<Int>) async throws {
        let lines = numbers.map { seq in
            #"{"v":1,"epoch":"e","seq":\#(seq),"t":\#(1_700_000_000_000_000 + seq),"x":[1],"y":[2],"z":[3]}"#
        }
        try await withTemporaryFolder { folder in
            let file = folder + "/messages"
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let run = try await RunningProgram.run(
                "/bin/sh",
                ["-c", #"f=$0; exec mosquitto_pub "$@" <"$f""#, file] + protocolArguments + [
                    "-q", "1", "-t", "lockstep/default/walker/motion/accelerometer", "-l",
                ])
            #expect(run.status == 0, "\(run.text)")
        }
    }
}
