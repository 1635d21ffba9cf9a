import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("Monitoring of IIO readings")
struct ReadingMonitorTests {
    private func monitor(
        _ quantity: IIOQuantity = .acceleration, range: ClosedRange<Double>? = -2048...2047, notes: [String] = []
    ) -> ReadingMonitor {
        ReadingMonitor(label: "iio:device0 (bmi160)", quantity: quantity, range: range, notes: notes)
    }

    @Test("zeros on all axes are never published, and are reported after 20 readings")
    func zeros() {
        var monitor = monitor()
        var published = 0
        for time in 0..<19 where monitor.accept(.zero, at: Int64(time)) { published += 1 }
        #expect(published == 0 && monitor.status == nil)
        _ = monitor.accept(.zero, at: 19)
        #expect(
            monitor.status
                == .waiting(
                    "iio:device0 (bmi160) reads zero on all axes: check the sensor's power and wiring; "
                        + "zeros are not published"))
        let isPublished = monitor.accept(SIMD3(0, 0, 1), at: 20)
        #expect(isPublished && monitor.status == .running)
    }

    @Test("a gyroscope that has read something else may read zero")
    func restingGyroscope() {
        var monitor = monitor(.rotation)
        let before = monitor.accept(.zero, at: 0)
        let alive = monitor.accept(SIMD3(1, 0, 0), at: 1)
        var published = 0
        for time in 2..<102 where monitor.accept(.zero, at: Int64(time)) { published += 1 }
        #expect(!before && alive && published == 100 && monitor.status == .running)
    }

    @Test("a gyroscope known from an earlier session may read zero at once")
    func provenGyroscope() {
        var monitor = ReadingMonitor(label: "g", quantity: .rotation, range: nil, isProven: true)
        #expect(monitor.status == nil)
        let isPublished = monitor.accept(.zero, at: 0)
        #expect(isPublished && monitor.status == .running)
        var field = ReadingMonitor(label: "m", quantity: .field, range: nil, isProven: true)
        let isFieldPublished = field.accept(.zero, at: 0)
        #expect(!isFieldPublished && field.status == nil)
    }

    @Test("values at the end of the range are published and reported for five seconds")
    func saturation() {
        var monitor = monitor()
        let isPublished = monitor.accept(SIMD3(2047, 5, -2048), at: 0)
        #expect(isPublished)
        #expect(
            monitor.status
                == .degraded(
                    "iio:device0 (bmi160): x, z at the end of the range (-2048 or 2047): "
                        + "choose a larger in_accel_scale"))
        _ = monitor.accept(SIMD3(1, 5, 1), at: 4_999_999)
        #expect(monitor.status != .running)
        _ = monitor.accept(SIMD3(1, 5, 1), at: 5_000_000)
        #expect(monitor.status == .running)
    }

    @Test("without a known range nothing is saturated")
    func unknownRange() {
        var monitor = monitor(range: nil)
        _ = monitor.accept(SIMD3(1e9, 1, 1), at: 0)
        #expect(monitor.status == .running)
    }

    @Test("notes and dropped samples are reported together")
    func notes() {
        var monitor = monitor(notes: ["polled: no buffer"])
        _ = monitor.accept(SIMD3(1, 1, 1), at: 0)
        monitor.noteLateSample(at: 1)
        monitor.noteLateSample(at: 2)
        #expect(
            monitor.status
                == .degraded(
                    "iio:device0 (bmi160): polled: no buffer; 2 samples dropped because of timestamps that did not advance"
                ))
    }
}

@Suite("IIO errors")
struct IIOErrorTests {
    @Test("a missing permission names the file and the udev rule")
    func permission() {
        #expect(
            IIOError(path: "/dev/iio:device0", errno: 13).description
                == "/dev/iio:device0: Permission denied: add the udev rule SUBSYSTEM==\"iio\", GROUP=\"iio\", "
                + "MODE=\"0660\" and put the agent's user into the group iio, or run the agent as root")
        #expect(
            IIOError(path: "/sys/x/buffer/enable", errno: 13).description.contains("RUN+=\"/bin/chgrp -R iio /sys%p\""))
    }

    @Test("other errors state cause and advice")
    func others() {
        #expect(IIOError(path: "/dev/iio:device0", errno: 16).description.contains("another program uses the sensor"))
        #expect(IIOError(path: "/x", errno: 19).description == "/x: No such device: the sensor is gone")
        #expect(IIOError(path: "/x", errno: 5).description.contains("check its wiring"))
        #expect(IIOError(path: "/x", errno: 2).description == "/x: No such file or directory")
    }
}
