import Glibc

/// Two glibc extensions of posix_spawn (2.29 and 2.34) that the Glibc module does not show, because
/// it is built without `_GNU_SOURCE`.
enum SpawnExtras {
    private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>
    private typealias CloseFrom = @convention(c) (Actions, Int32) -> Int32
    private typealias ChangeDirectory = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32

    /// Closes every descriptor from 3 on in the child, because those of the test process must not
    /// reach it, and changes its directory.
    static func prepare(
        _ actions: inout posix_spawn_file_actions_t, directory: String?
    ) throws {
        let closeFrom: CloseFrom = unsafeBitCast(
            try symbol("posix_spawn_file_actions_addclosefrom_np"), to: CloseFrom.self)
        try check(closeFrom(&actions, 3))
        if let directory {
            let change: ChangeDirectory = unsafeBitCast(
                try symbol("posix_spawn_file_actions_addchdir_np"), to: ChangeDirectory.self)
            try check(change(&actions, directory))
        }
    }

    private static func symbol(_ name: String) throws -> UnsafeMutableRawPointer {
        guard let pointer = dlsym(nil, name) else {
            throw SystemFailure("find \(name) in the C library", code: ENOSYS)
        }
        return pointer
    }

    private static func check(_ code: Int32) throws {
        guard code == 0 else { throw SystemFailure("prepare a child", code: code) }
    }
}
