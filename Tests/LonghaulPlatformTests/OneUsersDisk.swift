import Glibc
import LonghaulTestSupport
import Testing

/// A directory in which every file belongs to one user, mounted for one test.
final class OneUsersDisk {
    private let scratch: Scratch
    var path: String { scratch.path("disk") }

    init() throws {
        scratch = try Scratch()
        try scratch.subdirectory("disk")
        let mounting = try CLIProcess(
            try #require(InstalledProgram.find("bindfs")),
            [
                "--force-user=12345", "--create-as-user", "--chmod-deny",
                try scratch.subdirectory("under"), path,
            ])
        try #require(try mounting.reap() == .exited(0), "\(mounting.errors)")
    }

    deinit {
        umount2(path, Int32(MNT_DETACH))
    }

    static let isPossible: Bool = {
        guard InstalledProgram.find("bindfs") != nil, access("/dev/fuse", R_OK | W_OK) == 0,
            isRoot, let disk = try? OneUsersDisk()
        else { return false }
        return disk.path != ""
    }()
}
