/// Returns `value` rounded to a number of decimals, as a sensor of finite resolution would report it. Fewer decimals
/// keep payloads short.
package func resolved(_ value: Double, decimals: Int) -> Double {
    let steps = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
    // Adding 0 turns a negative zero into a positive one, which is shorter on the wire.
    return (value * steps).rounded() / steps + 0
}

/// Returns a direction in degrees as one from 0 up to, but not including, 360, rounded to a number of decimals.
package func compassDegrees(_ degrees: Double, decimals: Int) -> Double {
    let turned = degrees.truncatingRemainder(dividingBy: 360)
    let rounded = resolved(turned < 0 ? turned + 360 : turned, decimals: decimals)
    return rounded >= 360 ? 0 : rounded
}
