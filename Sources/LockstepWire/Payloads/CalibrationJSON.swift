package import FoundationEssentials
package import LockstepModel

/// The JSON encoding of a calibration: `{"t":…,"matrix":[…],"offset":[…],"rate_offset":[…],"positions":9,…}`.
package enum CalibrationJSON {
    /// Encodes a calibration as one object.
    package static func encode(_ calibration: InertialCalibration) -> [UInt8] {
        var object = JSONObjectWriter()
        encode(calibration, into: &object)
        return object.finish()
    }

    package static func encode(_ calibration: InertialCalibration, into object: inout JSONObjectWriter) {
        object.member("t", calibration.time.microseconds)
        object.member("matrix", calibration.matrix.flatMap { [$0.x, $0.y, $0.z] }) { $0.number($1) }
        object.member("offset", calibration.offset)
        if let offset = calibration.rotationOffset { object.member("rate_offset", offset) }
        object.member("positions", Int64(calibration.positions))
        object.member("error_before", calibration.errorBefore)
        object.member("error_after", calibration.errorAfter)
    }

    /// Decodes a calibration that ``encode(_:)`` wrote.
    /// - Throws: ``PayloadError`` with the reason.
    package static func decode(_ payload: Data) throws(PayloadError) -> InertialCalibration {
        try decode(JSONMembers(payload))
    }

    static func decode(_ object: JSONMembers) throws(PayloadError) -> InertialCalibration {
        let matrix: [Double] = try object.required("matrix")
        guard matrix.count == 9 else { throw PayloadError("'matrix' must have nine numbers, row by row") }
        let calibration = InertialCalibration(
            time: try object.required("t"),
            matrix: [0, 3, 6].map { SIMD3(matrix[$0], matrix[$0 + 1], matrix[$0 + 2]) },
            offset: try vector("offset", object.required("offset")),
            rotationOffset: try object.optional("rate_offset").map { values throws(PayloadError) in
                try vector("rate_offset", values)
            }, positions: try object.required("positions"), errorBefore: try object.required("error_before"),
            errorAfter: try object.required("error_after"))
        if let problem = calibration.problem { throw PayloadError("not a valid calibration: \(problem)") }
        return calibration
    }

    private static func vector(_ name: String, _ values: [Double]) throws(PayloadError) -> SIMD3<Double> {
        guard values.count == 3 else { throw PayloadError("'\(name)' must have three numbers") }
        return SIMD3(values[0], values[1], values[2])
    }
}

extension JSONObjectWriter {
    fileprivate mutating func member(_ name: String, _ vector: SIMD3<Double>) {
        member(name, [vector.x, vector.y, vector.z]) { $0.number($1) }
    }

    /// Writes an array element. Whole numbers are written without a fraction.
    fileprivate mutating func number(_ value: Double) {
        raw(Int64(exactly: value).map(String.init) ?? value.description)
    }
}
