// What the API of this module shows: streams and times, results of algorithms, and sources. `import LockstepDevice` is
// enough to use it.
@_exported public import LockstepModel
@_exported public import LockstepMotion
@_exported public import LockstepSensors
