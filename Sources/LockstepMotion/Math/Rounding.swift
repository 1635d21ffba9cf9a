/// Returns `value` rounded to a number of decimals, as a sensor of finite resolution would report it. Fewer decimals
/// keep payloads short.
package func resolved(_ value: Double, decimals: Int) -> Double {
    let steps = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
    // Adding 0 turns a negative zero into a positive one, which is shorter on the wire.
    return (value * steps).rounded() / steps + 0
}
