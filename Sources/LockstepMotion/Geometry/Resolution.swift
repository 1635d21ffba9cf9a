/// `value` as a sensor with a finite resolution gives it: rounded to so many decimals, which also keeps payloads short.
package func resolved(_ value: Double, decimals: Int) -> Double {
    let steps = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
    // Adding 0 keeps a negative zero from being written.
    return (value * steps).rounded() / steps + 0
}
