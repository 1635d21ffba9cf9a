import ArgumentParser

struct AnalyzeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "analyze",
        abstract: "Looks into a recording of sensors, without a broker or a store.",
        discussion: """
            A recording is a CSV file with a header: t_us (the time in µs) with x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 \
            or magnitude_g (accelerometer), gx_rad_s,gy_rad_s,gz_rad_s (gyroscope), mx_uT,my_uT,mz_uT (magnetometer). \
            Accelerations in m/s² are what chips give, +9.8 up at rest; those in g are as Lockstep has them, -1 at rest.
            """,
        subcommands: [AnalyzeAttitudeCommand.self, AnalyzeOrientationCommand.self, AnalyzeStepsCommand.self])
}
