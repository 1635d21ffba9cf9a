import ArgumentParser

struct AnalyzeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "analyze",
        abstract: "Analyse a recording of sensor data, without a broker.",
        discussion: """
            A recording is a file in CSV, NDJSON, GPX, or MCAP with messages in JSON, also one that 'lockstep export' \
            has written. The names in its header, or those of --map, say what the columns are:

              t_us, t_ms, t_s or t_ns      time in this unit, or t, time or
                                           timestamp; required
              x_g,y_g,z_g                  accelerometer in g; at rest, the upward
                                           axis reads -1
              ax_m_s2,ay_m_s2,az_m_s2      accelerometer as specific force in m/s²;
                                           at rest, the upward axis reads +9.8
              magnitude_g                  magnitude of the acceleration in g,
                                           sufficient for 'analyze steps',
                                           'walk' and 'activity'
              gx_rad_s,gy_rad_s,gz_rad_s   gyroscope in rad/s
              mx_uT,my_uT,mz_uT            magnetometer in µT
              pressure_hPa                 air pressure in hPa
              lat,lon[,alt,hacc,vacc,speed,course,fix,at]
                                           location
            """,
        subcommands: [
            AnalyzeAttitudeCommand.self, AnalyzeOrientationCommand.self, AnalyzeStepsCommand.self,
            AnalyzeWalkCommand.self, AnalyzeActivityCommand.self, AnalyzeSetCommand.self,
        ])
}
