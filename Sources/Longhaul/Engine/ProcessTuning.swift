internal import LonghaulPlatform

/// What a program whose whole purpose transfers are may do to its process, and a library may not.
package enum ProcessTuning {
    /// Before anything else of this module is used.
    package static func apply() {
        OwnProcess.tune()
    }

    /// What the program was called with, as bytes and without its own name; also where there is no
    /// /proc.
    package static var arguments: [[UInt8]] { OwnProcess.arguments }
}
