import ArgumentParser

struct AnalyzeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "analyze",
        abstract: "Analyse a recording of sensor data, without a broker or a store.",
        discussion: """
            A recording is a CSV file with a header: t_us (time in µs) with x_g,y_g,z_g or ax_m_s2,ay_m_s2,az_m_s2 \
            or magnitude_g (accelerometer), gx_rad_s,gy_rad_s,gz_rad_s (gyroscope), mx_uT,my_uT,mz_uT (magnetometer). \
            Accelerations in m/s² are specific force, as measured by sensor chips: at rest +9.8 along the upward axis. \
            Accelerations in g have the sign convention of Lockstep: at rest -1 along the upward axis.
            """,
        subcommands: [AnalyzeAttitudeCommand.self, AnalyzeOrientationCommand.self, AnalyzeStepsCommand.self])
}
