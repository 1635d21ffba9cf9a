/// The version of Lockstep, which all its programs share.
public let lockstepVersion = "0.1.0"
