/// How the readers of a source collect samples and retry.
struct IIOReadingOptions {
    /// The time for which samples are collected before they are delivered, in µs.
    let linger: Int64
    /// The delays of retries, before the first failure.
    let retry: BufferRetry
}
