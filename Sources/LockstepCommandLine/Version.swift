/// The version of Lockstep, shared by all its programs.
public let lockstepVersion = "0.1.0"
