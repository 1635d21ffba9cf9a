import LockstepModel
import LockstepSensors
import SensorTestSupport
import Testing

@Suite("What is doubted of IIO sensors")
struct SensorWatchTests {
    private func watch(
        _ quantity: IIOQuantity = .acceleration, range: ClosedRange<Double>? = -2048...2047, notes: [String] = []
    ) -> ReadingMonitor {
        ReadingMonitor(label: "iio:device0 (bmi160)", quantity: quantity, range: range, notes: notes)
    }

    @Test("zeros on all axes are never published, and reported after some")
    func zeros() {
        var watch = watch()
        var published = 0
        for time in 0..<19 where watch.take(.zero, at: Int64(time)) { published += 1 }
        #expect(published == 0 && watch.status == nil)
        _ = watch.take(.zero, at: 19)
        #expect(
            watch.status
                == .waiting(
                    "iio:device0 (bmi160) reads zero on all axes: check the sensor's power and wiring; "
                        + "zeros are not published"))
        let isPublished = watch.take(SIMD3(0, 0, 1), at: 20)
        #expect(isPublished && watch.status == .running)
    }

    @Test("a gyroscope that has said anything else may say zero")
    func restingGyroscope() {
        var watch = watch(.rotation)
        let before = watch.take(.zero, at: 0)
        let alive = watch.take(SIMD3(1, 0, 0), at: 1)
        var published = 0
        for time in 2..<102 where watch.take(.zero, at: Int64(time)) { published += 1 }
        #expect(!before && alive && published == 100 && watch.status == .running)
    }

    @Test("a gyroscope that has said anything else before may say zero from the first on")
    func provenGyroscope() {
        var watch = ReadingMonitor(label: "g", quantity: .rotation, range: nil, isProven: true)
        #expect(watch.status == nil)
        let isPublished = watch.take(.zero, at: 0)
        #expect(isPublished && watch.status == .running)
        var field = ReadingMonitor(label: "m", quantity: .field, range: nil, isProven: true)
        let isFieldPublished = field.take(.zero, at: 0)
        #expect(!isFieldPublished && field.status == nil)
    }

    @Test("values at an end of the range are published and reported for five seconds")
    func saturation() {
        var watch = watch()
        let isPublished = watch.take(SIMD3(2047, 5, -2048), at: 0)
        #expect(isPublished)
        #expect(
            watch.status
                == .degraded(
                    "iio:device0 (bmi160): x, z at the end of the range (-2048 or 2047): "
                        + "choose a larger in_accel_scale"))
        _ = watch.take(SIMD3(1, 5, 1), at: 4_999_999)
        #expect(watch.status != .running)
        _ = watch.take(SIMD3(1, 5, 1), at: 5_000_000)
        #expect(watch.status == .running)
    }

    @Test("without a range nothing is at its end")
    func unknownRange() {
        var watch = watch(range: nil)
        _ = watch.take(SIMD3(1e9, 1, 1), at: 0)
        #expect(watch.status == .running)
    }

    @Test("notes and dropped samples are told together")
    func notes() {
        var watch = watch(notes: ["polled: no buffer"])
        _ = watch.take(SIMD3(1, 1, 1), at: 0)
        watch.noteLateSample(at: 1)
        watch.noteLateSample(at: 2)
        #expect(
            watch.status
                == .degraded("iio:device0 (bmi160): polled: no buffer; 2 samples dropped whose time went backward"))
    }
}

@Suite("What the system refuses of IIO")
struct IIOErrorTests {
    @Test("a missing right names the file and the udev rule")
    func permission() {
        #expect(
            IIOError(path: "/dev/iio:device0", errno: 13).description
                == "/dev/iio:device0: Permission denied: add the udev rule SUBSYSTEM==\"iio\", GROUP=\"iio\", "
                + "MODE=\"0660\" and put the agent's user into the group iio, or run the agent as root")
        #expect(
            IIOError(path: "/sys/x/buffer/enable", errno: 13).description.contains("RUN+=\"/bin/chgrp -R iio /sys%p\""))
    }

    @Test("other refusals say what they mean")
    func others() {
        #expect(IIOError(path: "/dev/iio:device0", errno: 16).description.contains("another program reads the sensor"))
        #expect(IIOError(path: "/x", errno: 19).description == "/x: No such device: the sensor is gone")
        #expect(IIOError(path: "/x", errno: 5).description.contains("check its wiring"))
        #expect(IIOError(path: "/x", errno: 2).description == "/x: No such file or directory")
    }
}
