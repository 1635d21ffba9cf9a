public import LockstepModel

/// Knows when the certificates of a program expire, and warns in time.
public struct CertificateWatch: Sendable {
    /// What a certificate is used for.
    public enum Use: String, Sendable, CaseIterable {
        /// The broker's certificate, as it was presented.
        case broker
        /// The certificates of the authorities that the program trusts.
        case ca
        /// The program's certificate for the broker.
        case client
        /// The program's certificate for its own clients.
        case server
    }

    /// A certificate that expires soon, or has expired.
    public struct Warning: Hashable, Sendable {
        /// What the certificate is used for.
        public let use: Use
        /// The file of the certificate, or nil for the broker's.
        public let file: String?
        /// The whole days until it expires; negative if it has.
        public let days: Int64

        /// Whether it has expired.
        public var hasExpired: Bool { days < 0 }
    }

    /// How long before the end of the validity warnings begin, in µs: 30 days.
    public static let warningTime: Int64 = 30 * day
    private static let day: Int64 = 86_400_000_000
    /// The interval at which the files are read, in µs.
    private static let readInterval: Int64 = 3_600_000_000

    private let files: [Use: String]
    private let read: @Sendable (String) -> [Int64]
    private var readAt: Int64?
    private var warnedAt: [Use: Int64] = [:]
    /// The end of the validity of each certificate that is known, in µs since 1970.
    private(set) var expiries: [Use: Int64] = [:]
    /// The end of the validity of each certificate that is known, by the name of its use.
    public var times: [String: Timestamp] {
        Dictionary(
            uniqueKeysWithValues: expiries.map { ($0.key.rawValue, Timestamp(microseconds: $0.value)) })
    }

    /// Creates a watch.
    /// - Parameters:
    ///   - tls: the files for the connection to the broker.
    ///   - serverFile: the file of the program's certificate for its own clients, if it has one.
    public init(tls: TLSOptions, serverFile: String? = nil) {
        self.init(tls: tls, serverFile: serverFile, read: CertificateExpiry.microseconds(inFile:))
    }

    init(tls: TLSOptions, serverFile: String? = nil, read: @escaping @Sendable (String) -> [Int64]) {
        var files: [Use: String] = [:]
        files[.ca] = tls.authorityFile
        files[.client] = tls.certificateFile
        files[.server] = serverFile
        self.files = files
        self.read = read
    }

    /// The file of a certificate, or nil if there is none.
    public func file(of use: Use) -> String? { files[use] }

    /// Reads the files again if an hour has passed.
    /// - Parameters:
    ///   - broker: the end of the validity of the broker's certificate, in µs since 1970; nil if unknown.
    ///   - now: the time in µs since 1970.
    /// - Returns: the warnings that are due: one a day for each certificate.
    public mutating func update(broker: Int64?, at now: Int64) -> [Warning] {
        if readAt.map({ abs(now - $0) >= Self.readInterval }) ?? true {
            readAt = now
            for (use, file) in files {
                let times = read(file)
                // A chain is valid until its first certificate expires. Of several authorities, the old one may expire.
                expiries[use] = use == .ca ? times.max() : times.min()
            }
        }
        expiries[.broker] = broker
        return Use.allCases.compactMap { use in
            guard let expiry = expiries[use], expiry - now < Self.warningTime else {
                warnedAt[use] = nil
                return nil
            }
            if let last = warnedAt[use], abs(now - last) < Self.day { return nil }
            warnedAt[use] = now
            return Warning(use: use, file: files[use], days: (expiry - now - (expiry < now ? Self.day : 0)) / Self.day)
        }
    }
}
