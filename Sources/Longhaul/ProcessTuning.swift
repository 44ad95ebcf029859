internal import LonghaulSystem

/// What a program whose whole purpose transfers are may do to its process, and a library may not.
package enum ProcessTuning {
    /// Before anything else of this module is used.
    package static func apply() {
        OwnProcess.tune()
    }
}
