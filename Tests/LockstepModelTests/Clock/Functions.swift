import Glibc

func cosine(_ angle: Double) -> Double { cos(angle) }
func logarithm(_ value: Double) -> Double { log(value) }

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
