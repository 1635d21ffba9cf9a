public import ServiceLifecycle

/// Runs the services of a program until one of the first ends, or a signal requests the end of the program; then all of them end.
/// - Parameter helpers: services whose end changes nothing.
public func runServices(_ services: [any Service], helpers: [any Service] = []) async throws {
    let main = services + [await TerminationSignals()]
    let group = ServiceGroup(
        configuration: .init(
            services: main.map { service in
                .init(
                    service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                    failureTerminationBehavior: .gracefullyShutdownGroup)
            } + helpers.map { .init(service: $0) },
            logger: .quiet))
    try await group.run()
}
