internal import LonghaulCore
internal import LonghaulStore
internal import Synchronization

/// What programs that run by themselves do in simulated worlds, where a launch is a Swift task that
/// the world begins.
package enum SimulatedResidents {
    package typealias Program = @Sendable () async throws -> Void

    private struct Key: Hashable {
        let directory: ExactText
        let id: Int64
    }

    private static let programs = Mutex<[Key: Program]>([:])

    /// `nil`: the process has left.
    package static func program(of id: ResidentID, in directory: String) -> Program? {
        programs.withLock { $0[key(id, directory)] }
    }

    static func isThere(_ id: ResidentID, in directory: String) -> Bool {
        program(of: id, in: directory) != nil
    }

    /// Does nothing outside of simulated worlds.
    static func add(_ id: ResidentID, in directory: String, _ program: @escaping Program) {
        guard Machine.isSimulated(directory) else { return }
        programs.withLock { $0[key(id, directory)] = program }
    }

    static func remove(_ id: ResidentID, in directory: String) {
        programs.withLock { $0[key(id, directory)] = nil }
    }

    private static func key(_ id: ResidentID, _ directory: String) -> Key {
        Key(directory: ExactText(directory), id: id.rawValue)
    }
}
